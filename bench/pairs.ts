/**
 * npm run bench:pairs -- --against DIR [--phase first] [--pairs 15] [--dataset lifelike] [--warehouses sqlite,postgres]
 * [--records 12000] [--tenants 4]
 *
 * Compares this checkout's build (A) with another one's (B, in DIR): first loads, or with `--phase idle` syncs that find
 * nothing new, each in its own process, in the order A B B A, so that each is compared with what ran next to it.
 * Processor time and peak memory decide; elapsed time is shown, but means little on a machine shared with others. Both
 * checkouts need dist/bench/measure.js (npm run build).
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measured } from './benchmark.js'
import type { Measured, Task } from './measure.js'
import { processorSeconds } from './processes.js'
import { type Dataset, datasets, resourcesOf } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { type Interval, median, medianInterval } from './stats.js'
import { type BenchWarehouse, empty, quieten, schema, serverPid, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    against: { type: 'string' },
    pairs: { type: 'string', default: '15' },
    dataset: { type: 'string', default: 'lifelike' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
    records: { type: 'string', default: '12000' },
    tenants: { type: 'string', default: '4' },
    phase: { type: 'string', default: 'first' },
  },
})

const tenants = Number(options.tenants)
/** How long the server takes to reap the processes of closed connections. */
const reapMs = 200

interface Run extends Measured {
  /** Processor seconds of the database server; 0 if there is none, or if they aren't available. */
  readonly server: number
}

interface Pair {
  readonly a: Run
  readonly b: Run
}

/** Loads by the programs of several checkouts, one after the other, each into the tables that are its turn. */
class Course {
  readonly #warehouse: BenchWarehouse
  readonly #task: Omit<Task, 'contender' | 'phase'>
  readonly #server: number | undefined
  readonly #loaded = new Set<number>()

  constructor(warehouse: BenchWarehouse, source: string, dataset: Dataset, server: number | undefined) {
    const { url } = warehouse
    const updatedAfter = '1970-01-01T00:00:00Z'
    const resources = resourcesOf(dataset)
    this.#warehouse = warehouse
    this.#task = { url, schema, source, tenants, resources, updatedAfter }
    this.#server = server
  }

  /** A first load into empty tables. */
  async first(program: string): Promise<Run> {
    await empty(this.#warehouse.url)
    const task = { ...this.#task, phase: 'first' as const }
    await measured({ ...task, contender: 'prepare' }, program)
    return this.#load(task, program)
  }

  /** A sync that finds nothing new. The program keeps tables of its own, since the other's may have other columns. */
  async idle(program: string, index: number): Promise<Run> {
    const { url } = this.#warehouse
    const own = url.startsWith('sqlite:') ? { url: `${url}.${index}` } : { schema: `${schema}_${index}` }
    const task = { ...this.#task, ...own }
    if (!this.#loaded.has(index)) {
      await measured({ ...task, phase: 'first', contender: 'shopsync' }, program)
      this.#loaded.add(index)
    }
    return this.#load({ ...task, phase: 'changed' }, program)
  }

  async #load(task: Omit<Task, 'contender'>, program: string): Promise<Run> {
    const before = await this.#used()
    const result = await measured({ ...task, contender: 'shopsync' }, program)
    return { ...result, server: (await this.#used()) - before }
  }

  async #used(): Promise<number> {
    if (this.#server === undefined) return 0
    await sleep(reapMs)
    return processorSeconds(this.#server) ?? 0
  }
}

async function compare(course: Course, programs: readonly [string, string]): Promise<Pair[]> {
  const idle = options.phase === 'idle'
  const run = (index: 0 | 1): Promise<Run> =>
    idle ? course.idle(programs[index], index) : course.first(programs[index])
  const pairs: Pair[] = []
  // The first runs warm up the file cache and don't count.
  for (const index of [0, 1] as const) await run(index)
  for (let i = 0; i < Number(options.pairs); i++) {
    const first = await run(i % 2 === 0 ? 0 : 1)
    const second = await run(i % 2 === 0 ? 1 : 0)
    const pair = i % 2 === 0 ? { a: first, b: second } : { a: second, b: first }
    pairs.push(pair)
    const shown = [pair.a, pair.b].map(
      ({ cpu, megabytes }) => `${cpu.toFixed(2)} s ${megabytes.toFixed(0)} MB`,
    )
    process.stderr.write(`pair ${i + 1}: A ${shown[0]}, B ${shown[1]}\n`)
  }
  return pairs
}

type Pick = (run: Run) => number

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`

function line(name: string, pairs: readonly Pair[], pick: Pick, digits: number, change: string[]): string {
  const medians = [median(pairs.map(({ a }) => pick(a))), median(pairs.map(({ b }) => pick(b)))]
  return row([name, ...medians.map((value) => value.toFixed(digits)), ...change])
}

const signed = (value: number): string => `${value > 0 ? '+' : ''}${value.toFixed(1)}`

const cells = ({ median: middle, low, high }: Interval, show: (value: number) => string): string[] => [
  show(middle),
  `${show(low)} to ${show(high)}`,
]

function report(pairs: readonly Pair[]): string {
  const ratios = (pick: Pick): string[] =>
    cells(medianInterval(pairs.map(({ a, b }) => pick(a) / pick(b))), (value) => value.toFixed(3))
  const memory = medianInterval(pairs.map(({ a, b }) => a.megabytes - b.megabytes))
  let text = row(['', 'A', 'B', 'A against B', `${(memory.confidence * 100).toFixed(0)} % interval`])
  text += row(['---', '---:', '---:', '---:', '---:'])
  const timed = (name: string, pick: Pick): void => {
    text += line(name, pairs, pick, 2, ratios(pick))
  }
  timed('processor s', ({ cpu }) => cpu)
  if (pairs.some(({ a }) => a.server > 0)) {
    timed('server processor s', ({ server }) => server)
    timed('both', ({ cpu, server }) => cpu + server)
  }
  text += line('peak MB', pairs, ({ megabytes }) => megabytes, 0, cells(memory, signed))
  timed('elapsed s', ({ seconds }) => seconds)
  return text
}

function programs(): [string, string] {
  const { against } = options
  if (against === undefined) throw new Error('--against is missing: the folder of another checkout, built')
  const other = join(resolve(against), 'dist/bench/measure.js')
  if (!existsSync(other)) throw new Error(`There is no ${other}; type \`npm run build\` in ${against}`)
  return [resolve('dist/bench/measure.js'), other]
}

async function main(): Promise<void> {
  const both = programs()
  if (options.phase !== 'first' && options.phase !== 'idle')
    throw new Error(`--phase ${options.phase}: expected first or idle`)
  const dataset = datasets.find((known) => known === options.dataset)
  if (dataset === undefined) throw new Error(`--dataset ${options.dataset}: expected ${datasets.join(', ')}`)
  const source = await BenchSource.start(tenants, Number(options.records) / tenants, dataset)
  try {
    await withWarehouses(options.warehouses.split(','), async (warehouses) => {
      for (const warehouse of warehouses) {
        const postgres = warehouse.name === 'postgres'
        if (postgres) await quieten(warehouse.url)
        const server = postgres ? await serverPid(warehouse.url) : undefined
        const pairs = await compare(new Course(warehouse, source.url, dataset, server), both)
        const what = `${options.phase}, ${dataset}, ${warehouse.name}, ${options.records} repair orders, ${pairs.length} pairs`
        process.stdout.write(
          `\n${what}, medians; A is this checkout, B is ${options.against}:\n\n${report(pairs)}\n`,
        )
      }
    })
  } finally {
    source.stop()
  }
}

await main()

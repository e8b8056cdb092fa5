/**
 * npm run bench -- pairs --against DIR [--phase first] [--pairs 15] [--dataset lifelike] [--warehouses sqlite,postgres]
 * [--records 12000] [--tenants 4]
 *
 * Compares this checkout's build (A) with another one's (B, in DIR): first loads; or with `--phase idle` syncs that find
 * nothing new, with `again` a `sync --full` over the same, with `changed` a run after 5 % of the records have changed. Each
 * is in its own process, in the order A B B A, so that each is compared with what ran next to it. Processor time and peak
 * memory decide; elapsed time is shown, but means little on a machine shared with others. Both checkouts need
 * dist/bench/measure.js (npm run build).
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { changedEach, measured } from './contestant.js'
import { oneOf, options, row, say } from './kit.js'
import { loadOf } from './load.js'
import type { Measured, Task } from './measure.js'
import { processorSeconds } from './processes.js'
import { datasets } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { type Interval, median, medianInterval } from './stats.js'
import { type BenchWarehouse, empty, quieten, schema, serverPid, withWarehouses } from './warehouse.js'

const given = options({
  against: '',
  pairs: 15,
  dataset: 'lifelike',
  warehouses: 'sqlite,postgres',
  records: 12_000,
  tenants: 4,
  phase: 'first',
})
const dataset = oneOf('dataset', given.dataset, datasets)
const phase = oneOf('phase', given.phase, ['first', 'idle', 'again', 'changed'])
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
  readonly #task: Omit<Task, 'contender' | 'phase'>
  readonly #loaded = new Set<number>()

  constructor(
    warehouse: BenchWarehouse,
    private readonly source: BenchSource,
    private readonly server: number | undefined,
  ) {
    this.#task = loadOf(warehouse.url, source, dataset, given.tenants)
  }

  async run(program: string, index: number): Promise<Run> {
    if (phase === 'idle') return this.#idle(program, index)
    await empty(this.#task.url)
    const task = { ...this.#task, phase: 'first' as const }
    await measured({ ...task, contender: 'prepare' }, program)
    if (phase === 'first') return this.#load(task, program)
    await this.source.reset()
    await measured({ ...task, contender: 'shopsync' }, program)
    if (phase === 'changed') await this.source.change(changedEach)
    return this.#load({ ...task, phase }, program)
  }

  /** A sync that finds nothing new. The program keeps tables of its own, since the other's may have other columns. */
  async #idle(program: string, index: number): Promise<Run> {
    const { url } = this.#task
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
    if (this.server === undefined) return 0
    await sleep(reapMs)
    return processorSeconds(this.server) ?? 0
  }
}

async function compare(course: Course, programs: readonly [string, string]): Promise<Pair[]> {
  const run = (index: 0 | 1): Promise<Run> => course.run(programs[index], index)
  const pairs: Pair[] = []
  // The first runs warm up the file cache and don't count.
  for (const index of [0, 1] as const) await run(index)
  for (let i = 0; i < given.pairs; i++) {
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
  const { against } = given
  if (against === '') throw new Error('--against is missing: the folder of another checkout, built')
  const other = join(resolve(against), 'dist/bench/measure.js')
  if (!existsSync(other)) throw new Error(`There is no ${other}; type \`npm run build\` in ${against}`)
  return [resolve('dist/bench/measure.js'), other]
}

const both = programs()
using source = await BenchSource.start(given.tenants, given.records / given.tenants, dataset)
await withWarehouses(given.warehouses, async (warehouses) => {
  for (const warehouse of warehouses) {
    const isServer = warehouse.name === 'postgres'
    if (isServer) await quieten(warehouse.url)
    const server = isServer ? await serverPid(warehouse.url) : undefined
    const pairs = await compare(new Course(warehouse, source, server), both)
    const what = `${phase}, ${dataset}, ${warehouse.name}, ${given.records} repair orders, ${pairs.length} pairs`
    say(`\n${what}, medians; A is this checkout, B is ${given.against}:\n\n${report(pairs)}`)
  }
})

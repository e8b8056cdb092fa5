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
import { oneOf, options, say, table } from './kit.js'
import { changedEach, loadOf, type Measured, measured, type Task } from './load.js'
import { processorSeconds } from './processes.js'
import { datasets } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { median, medianInterval } from './stats.js'
import { empty, quieten, schema, serverPid, withWarehouses } from './warehouse.js'

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

interface Course {
  readonly task: Omit<Task, 'contender' | 'phase'>
  readonly source: BenchSource
  /** The process of the database server. */
  readonly server: number | undefined
  /** The programs that have loaded their tables: only for `idle`. */
  readonly loaded: Set<number>
}

async function used({ server }: Course): Promise<number> {
  if (server === undefined) return 0
  await sleep(reapMs)
  return processorSeconds(server) ?? 0
}

async function load(course: Course, task: Omit<Task, 'contender'>, program: string): Promise<Run> {
  const before = await used(course)
  const result = await measured({ ...task, contender: 'shopsync' }, program)
  return { ...result, server: (await used(course)) - before }
}

/** One measured load, by the program of one checkout into the tables that are its turn. */
async function run(course: Course, program: string, index: number): Promise<Run> {
  const { source, loaded } = course
  const task = { ...course.task, phase: 'first' as const }
  if (phase === 'idle') {
    // It keeps tables of its own, since the other's may have other columns.
    const { url } = task
    const own = url.startsWith('sqlite:') ? { url: `${url}.${index}` } : { schema: `${schema}_${index}` }
    if (!loaded.has(index)) await measured({ ...task, ...own, contender: 'shopsync' }, program)
    loaded.add(index)
    return load(course, { ...task, ...own, phase: 'changed' }, program)
  }
  await empty(task.url)
  await measured({ ...task, contender: 'prepare' }, program)
  if (phase === 'first') return load(course, task, program)
  await source.reset()
  await measured({ ...task, contender: 'shopsync' }, program)
  if (phase === 'changed') await source.change(changedEach)
  return load(course, { ...task, phase }, program)
}

async function compare(course: Course, programs: readonly [string, string]): Promise<Pair[]> {
  const pairs: Pair[] = []
  // The first runs warm up the file cache and don't count.
  const one = (index: 0 | 1): Promise<Run> => run(course, programs[index], index)
  for (const index of [0, 1] as const) await one(index)
  const inWords = ({ cpu, megabytes }: Run): string => `${cpu.toFixed(2)} s ${megabytes.toFixed(0)} MB`
  for (let i = 0; i < given.pairs; i++) {
    const first = await one(i % 2 === 0 ? 0 : 1)
    const second = await one(i % 2 === 0 ? 1 : 0)
    const [a, b] = i % 2 === 0 ? [first, second] : [second, first]
    pairs.push({ a, b })
    process.stderr.write(`pair ${i + 1}: A ${inWords(a)}, B ${inWords(b)}\n`)
  }
  return pairs
}

/** A figure of both, and how they compare: a ratio, or what more A takes. */
function line(
  name: string,
  pairs: readonly Pair[],
  pick: (run: Run) => number,
  compared: (a: number, b: number) => number = (a, b) => a / b,
): (string | number)[] {
  const isRatio = compared(2, 1) === 2
  const shown = (value: number): string =>
    isRatio ? value.toFixed(3) : `${value > 0 ? '+' : ''}${value.toFixed(1)}`
  const medians = [median(pairs.map(({ a }) => pick(a))), median(pairs.map(({ b }) => pick(b)))]
  const its = medianInterval(pairs.map(({ a, b }) => compared(pick(a), pick(b))))
  const interval = `${shown(its.low)} to ${shown(its.high)} (${(its.confidence * 100).toFixed(0)} %)`
  return [name, ...medians.map((value) => value.toFixed(isRatio ? 2 : 0)), shown(its.median), interval]
}

function report(pairs: readonly Pair[]): string {
  const difference = (a: number, b: number): number => a - b
  const ofServer = [
    line('server processor s', pairs, ({ server }) => server),
    line('both', pairs, ({ cpu, server }) => cpu + server),
  ]
  const lines = [
    line('processor s', pairs, ({ cpu }) => cpu),
    ...(pairs.some(({ a }) => a.server > 0) ? ofServer : []),
    line('peak MB', pairs, ({ megabytes }) => megabytes, difference),
    line('elapsed s', pairs, ({ seconds }) => seconds),
  ]
  return table(['', 'A', 'B', 'A against B', 'interval'], lines)
}

const { against } = given
if (against === '') throw new Error('--against is missing: the folder of another checkout, built')
const other = join(resolve(against), 'dist/bench/measure.js')
if (!existsSync(other)) throw new Error(`There is no ${other}; type \`npm run build\` in ${against}`)
const both = [resolve('dist/bench/measure.js'), other] as const
using source = await BenchSource.start(given.tenants, given.records / given.tenants, dataset)
await withWarehouses(given.warehouses, async (warehouses) => {
  for (const warehouse of warehouses) {
    const isServer = warehouse.name === 'postgres'
    if (isServer) await quieten(warehouse.url)
    const server = isServer ? await serverPid(warehouse.url) : undefined
    const task = loadOf(warehouse.url, source, dataset, given.tenants)
    const pairs = await compare({ task, source, server, loaded: new Set() }, both)
    const what = `${phase}, ${dataset}, ${warehouse.name}, ${given.records} repair orders, ${pairs.length} pairs`
    say(`\n${what}, medians; A is this checkout, B is ${given.against}:\n\n${report(pairs)}`)
  }
})

/**
 * One measured load, in a process of its own: a task as JSON in its argument, the measurement as the last line of its
 * output. run.ts and pairs.ts start it; pairs.ts also starts that of another checkout, so what a task and a measurement
 * hold changes only by additions.
 */
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { columnsOf } from './floor/columns.js'
import type { Load } from './floor/load.js'
import { modelOf } from './model.js'

/** The contenders that are programs of this project. */
export type Own = 'floor' | 'shopsync' | 'raw' | 'plain'
export type Phase = 'first' | 'again' | 'changed'

export interface Task extends Omit<Load, 'columns'> {
  /** `prepare`: empty tables, made by the product's own migration, as every contender finds them. */
  readonly contender: Own | 'prepare'
  readonly phase: Phase
  /** Of `prepare` and `shopsync`: whether versions that end are kept. */
  readonly history?: boolean
}

export interface Measured {
  readonly seconds: number
  /** User and system time of the process, its threads and its children; a database server's is not. */
  readonly cpu: number
  readonly megabytes: number
}

async function prepare({ url, schema }: Load, history?: boolean): Promise<void> {
  const warehouse = await openWarehouse({ url, schema, model: modelOf(history) })
  await warehouse.migrate()
  await warehouse.close()
}

async function contender({
  contender: name,
  phase,
  url,
  history,
}: Task): Promise<(load: Load) => Promise<void>> {
  const sqlite = url.startsWith('sqlite:')
  if (name === 'prepare') return (given) => prepare(given, history)
  if (name === 'plain') return (await import('./plain/plain.js')).load
  if (name === 'raw') return (await (sqlite ? import('./raw/sqlite.js') : import('./raw/postgres.js'))).load
  if (name === 'shopsync') {
    const { load } = await import('./shopsync.js')
    return (given) => load(given, phase === 'again', history)
  }
  return (await (sqlite ? import('./floor/sqlite.js') : import('./floor/postgres.js'))).load
}

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '{}') as Task
  const columns = columnsOf(task.resources)
  const load = await contender(task)
  const start = performance.now()
  await load({ ...task, columns })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage()
  const measured: Measured = {
    seconds,
    cpu: (user + system) / 1e6,
    megabytes: process.resourceUsage().maxRSS / 1024,
  }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}

await main()

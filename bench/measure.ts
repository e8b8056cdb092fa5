/**
 * One measured load in its own process: a task as JSON in its argument, the measurement as the last line of its output.
 * contest.ts and pairs.ts start it. pairs.ts also starts another checkout's, so the fields of a task and a measurement may
 * only be added to.
 */
import { migrate } from '../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { known } from './kit.js'
import type { Load } from './load.js'
import { empty } from './warehouse.js'

/** The programs of this project that are measured. */
export type Own = 'shopsync' | 'read' | 'write'
export type Phase = 'first' | 'again' | 'changed'

export interface Task extends Load {
  /** `prepare`: empty tables, made by the product's own migration, as every program finds them. */
  readonly contender: Own | 'prepare'
  readonly phase: Phase
  /** Requests of `shopsync` at once; by default 8. */
  readonly connections?: number
}

export interface Measured {
  readonly seconds: number
  /** User and system time of the process, its threads and its children, without the database server's. */
  readonly cpu: number
  readonly megabytes: number
}

async function prepare({ url, schema }: Load): Promise<void> {
  const warehouse = await openWarehouse({ url, schema, model: known })
  await migrate(warehouse)
  await warehouse.close()
}

/** Reads the rows of the existing warehouse; they are then written again, into empty tables. */
async function writer(task: Task): Promise<() => Promise<void>> {
  const isSqlite = task.url.startsWith('sqlite:')
  const { ready } = isSqlite ? await import('./write/sqlite.js') : await import('./write/postgres.js')
  const write = await ready(task)
  await empty(task.url)
  await prepare(task)
  return write
}

/** What is measured; its preparations are done when the promise is fulfilled. */
async function work(task: Task): Promise<() => Promise<void>> {
  const { contender, phase, connections } = task
  if (contender === 'prepare') return () => prepare(task)
  if (contender === 'write') return writer(task)
  if (contender === 'read') {
    const { load } = await import('./read.js')
    return () => load(task)
  }
  const { load } = await import('./shopsync.js')
  return () => load(task, phase === 'again' ? 'full' : 'sync', connections)
}

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '{}') as Task
  const measuredWork = await work(task)
  const start = performance.now()
  // A program's own start counts; preparing the rows for `write` doesn't.
  const before = task.contender === 'write' ? process.cpuUsage() : { user: 0, system: 0 }
  await measuredWork()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage()
  const measured: Measured = {
    seconds,
    cpu: (user - before.user + system - before.system) / 1e6,
    megabytes: process.resourceUsage().maxRSS / 1024,
  }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}

await main()

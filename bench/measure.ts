/**
 * One measured load in its own process: a task as JSON in its argument, the measurement as the last line of its output.
 * contest.ts and pairs.ts start it. pairs.ts also starts another checkout's, so the fields of a task and a measurement may
 * only be added to.
 */
import { migrate } from '../src/engine/warehouse/layout/migrate.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { known } from './known.js'
import type { Load, Measured, Task } from './load.js'

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
  const { empty } = await import('./warehouse.js')
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

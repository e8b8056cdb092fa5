/** One measured load, in a process of its own: arguments in, one line of JSON out. Started by run.ts. */
import { columnsOf } from './floor/columns.js'
import type { Load } from './floor/load.js'

export type Contender = 'floor' | 'shopsync' | 'plain'
export type Phase = 'first' | 'again' | 'changed'

export interface Task extends Omit<Load, 'columns'> {
  readonly contender: Contender
  readonly phase: Phase
}

export interface Measured {
  readonly rows: number
  readonly seconds: number
  /** User and system time of the process, its threads included; the database's server, where there is one, is not. */
  readonly cpu: number
  readonly megabytes: number
}

async function contender({ contender: name, phase, url }: Task): Promise<(load: Load) => Promise<number>> {
  if (name === 'plain') return (await import('./plain/plain.js')).load
  if (name === 'shopsync') {
    const { load } = await import('./shopsync.js')
    return (given) => load(given, phase === 'again')
  }
  return url.startsWith('sqlite:')
    ? (await import('./floor/sqlite.js')).load
    : (await import('./floor/postgres.js')).load
}

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '{}') as Task
  const columns = columnsOf()
  const load = await contender(task)
  const start = performance.now()
  const rows = await load({ ...task, columns })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage()
  const measured: Measured = {
    rows,
    seconds,
    cpu: (user + system) / 1e6,
    megabytes: process.resourceUsage().maxRSS / 1024,
  }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}

await main()

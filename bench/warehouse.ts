/** The warehouses that benchmarks write to: where they are, and how they are emptied. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askServer, onServer } from '../test/support/harness/databases.js'
import { startPostgres } from '../test/support/harness/postgres.js'
import { parentOf } from './processes.js'

export const schema = 'bench'
export type WarehouseName = 'sqlite' | 'postgres'

export interface BenchWarehouse {
  readonly name: WarehouseName
  readonly url: string
}

const isSqlite = (url: string): boolean => url.startsWith('sqlite:')

/** Leaves nothing of what a contender wrote, and nothing for the server to write later. */
export async function empty(url: string): Promise<void> {
  if (isSqlite(url)) {
    for (const file of ['', '.events'])
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(`${url.slice('sqlite:'.length)}${file}${suffix}`, { force: true })
    return
  }
  const drops = [schema, `${schema}_staging`].map((name) => `drop schema if exists ${name} cascade`)
  await onServer(url, ...drops, 'checkpoint')
}

/** Keeps the server's own background work from falling into one run and not the next. */
export const quieten = (url: string): Promise<void> =>
  onServer(url, 'alter system set autovacuum = off', 'select pg_reload_conf()')

/** The parent of all the server's processes. */
export async function serverPid(url: string): Promise<number | undefined> {
  const [row] = await askServer<{ pid: number }>(url, 'select pg_backend_pid() as pid')
  return row && parentOf(row.pid)
}

/** A process that is ended by a signal skips its exit handlers, and one of them stops the server. */
const endOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}

/**
 * Provides the wanted warehouses, and removes them after use: `sqlite`, `postgres`, or both with a comma between them. Those
 * that are given by their addresses are kept.
 */
export async function withWarehouses<T>(
  wanted: string,
  use: (warehouses: readonly BenchWarehouse[]) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-bench-'))
  endOnSignals()
  const words = wanted.split(',')
  const postgres = words.includes('postgres') ? await startPostgres() : undefined
  try {
    return await use(
      words.map((word): BenchWarehouse => {
        if (word.includes(':')) return { name: isSqlite(word) ? 'sqlite' : 'postgres', url: word }
        if (word === 'sqlite') return { name: word, url: `sqlite:${join(folder, 'bench.db')}` }
        if (word === 'postgres' && postgres) return { name: word, url: postgres.url }
        throw new Error(`There is no warehouse ${word}; expected sqlite or postgres`)
      }),
    )
  } finally {
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

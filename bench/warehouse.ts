/** The warehouses that benchmarks write to: where they are, and how they are emptied. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../test/support/harness/postgres.js'
import { parentOf } from './processes.js'

export const schema = 'bench'
export type WarehouseName = 'sqlite' | 'postgres'

export interface BenchWarehouse {
  readonly name: WarehouseName
  readonly url: string
}

const isSqlite = (url: string): boolean => url.startsWith('sqlite:')

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Leaves nothing of what a contender wrote, and nothing for the server to write later. */
export async function empty(url: string): Promise<void> {
  if (isSqlite(url)) {
    for (const file of ['', '.events'])
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(`${url.slice('sqlite:'.length)}${file}${suffix}`, { force: true })
    return
  }
  await withClient(url, async (client) => {
    for (const name of [schema, `${schema}_staging`])
      await client.query(`drop schema if exists ${name} cascade`)
    await client.query('checkpoint')
  })
}

/** Keeps the server's own background work from falling into one run and not the next. */
export const quieten = (url: string): Promise<void> =>
  withClient(url, async (client) => {
    await client.query('alter system set autovacuum = off')
    await client.query('select pg_reload_conf()')
  })

/** The parent of all the server's processes. */
export const serverPid = (url: string): Promise<number | undefined> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0] && parentOf(rows[0].pid)
  })

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

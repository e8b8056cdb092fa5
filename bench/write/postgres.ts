/**
 * The limit of writing into Postgres: rows in prepared files in the server's own format are copied into empty tables,
 * several tables at a time. No client can send them faster than the server reads a file.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type Load, tablesOf } from '../load.js'

/** One per core. */
const connections = 2

const quoted = (name: string): string => `"${name}"`

async function connect({ url, schema }: Load): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` })
  await client.connect()
  return client
}

const fileOf = (folder: string, table: string): string => `'${join(folder, table)}' (format binary)`

/** Has the server copy the rows of a filled warehouse into files; returns what writes them. */
export async function ready(given: Load): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-rows-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // The server runs as another user.
  chmodSync(folder, 0o777)
  const client = await connect(given)
  const counts: { table: string; rows: number }[] = []
  for (const { name } of tablesOf(given.resources)) {
    const { rowCount } = await client.query(`copy ${quoted(name)} to ${fileOf(folder, name)}`)
    counts.push({ table: name, rows: rowCount ?? 0 })
  }
  await client.end()
  // Those with the most rows first.
  const tables = counts.toSorted((a, b) => b.rows - a.rows).map(({ table }) => table)
  return () => write(given, folder, tables)
}

async function write(given: Load, folder: string, tables: readonly string[]): Promise<void> {
  const left = [...tables]
  const turn = async (): Promise<void> => {
    const client = await connect(given)
    for (let table = left.shift(); table !== undefined; table = left.shift())
      await client.query(`copy ${quoted(table)} from ${fileOf(folder, table)}`)
    await client.end()
  }
  await Promise.all(Array.from({ length: connections }, turn))
}

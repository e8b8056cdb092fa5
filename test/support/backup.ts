/** Backs a warehouse up, as its owner would while nothing runs, and gives the way back. */
import { copyFileSync, rmSync } from 'node:fs'
import pg from 'pg'
import type { Address } from './place.js'

/** Nothing may be connected to the warehouse, neither now nor when it is restored. */
export function backUp(address: Address): Promise<() => Promise<void>> {
  return address.url.startsWith('sqlite:') ? copyFile(address) : copySchema(address)
}

async function copyFile({ url }: Address): Promise<() => Promise<void>> {
  const file = url.slice('sqlite:'.length)
  copyFileSync(file, `${file}.backup`)
  return async () => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    copyFileSync(`${file}.backup`, file)
  }
}

async function copySchema({ url, schema }: Address): Promise<() => Promise<void>> {
  const execute = async (statements: (tables: readonly string[]) => readonly string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query('select tablename from pg_tables where schemaname = $1', [schema])
    for (const statement of statements(rows.map(({ tablename }) => tablename))) await client.query(statement)
    await client.end()
  }
  const kept = `${schema}_backup`
  await execute((tables) => [
    `drop schema if exists "${kept}" cascade`,
    `create schema "${kept}"`,
    ...tables.map((table) => `create table "${kept}"."${table}" as table "${schema}"."${table}"`),
  ])
  return () =>
    execute((tables) => [
      `truncate ${tables.map((table) => `"${schema}"."${table}"`).join(', ')}`,
      ...tables.map((table) => `insert into "${schema}"."${table}" table "${kept}"."${table}"`),
    ])
}

/** Backs up a warehouse, as its owner would while nothing is running, and returns how to restore it. */
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import pg from 'pg'
import { onServer } from './databases.js'
import type { Address } from './place.js'

/** Nothing may be connected to the warehouse, neither now nor during the restore. */
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

/** Keeps the rows of a warehouse, and returns how to restore them. Connections to the warehouse may stay open. */
export function keepRows(address: Address, name: string): Promise<() => Promise<void>> {
  return address.url.startsWith('sqlite:') ? keepFile(address, name) : copySchema(address, name)
}

async function keepFile({ url }: Address, name: string): Promise<() => Promise<void>> {
  const file = url.slice('sqlite:'.length)
  const kept = `${file}.${name}`
  const execute = <T>(work: (db: BetterSqlite3.Database) => T): T => {
    const db = new BetterSqlite3(file)
    try {
      return work(db)
    } finally {
      db.close()
    }
  }
  execute((db) => db.exec(`vacuum into '${kept}'`))
  const back = execute((db) => {
    const tables = db
      .prepare<[], { name: string }>(
        // A table with a trigger refuses changes: what is in it depends on no row.
        `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
          and name not in (select tbl_name from sqlite_schema where type = 'trigger')`,
      )
      .all()
      .map((table) => table.name)
    const isFilled = (table: string): boolean => db.prepare(`select 1 from "${table}"`).get() !== undefined
    return [
      `attach '${kept}' as kept; begin immediate`,
      ...tables.map((table) => `delete from main."${table}"`),
      ...tables.filter(isFilled).map((table) => `insert into main."${table}" select * from kept."${table}"`),
      'commit',
    ].join('; ')
  })
  return async () => void execute((db) => db.exec(back))
}

/**
 * Dumps a warehouse, which may be in use, and returns how to restore the dump: a file is moved into its place, tables are
 * dropped and made again.
 */
export function dump(address: Address): Promise<() => Promise<void>> {
  return address.url.startsWith('sqlite:') ? dumpFile(address) : dumpSchema(address)
}

async function dumpFile({ url }: Address): Promise<() => Promise<void>> {
  const file = url.slice('sqlite:'.length)
  const db = new BetterSqlite3(file, { readonly: true })
  db.exec(`vacuum into '${file}.dump'`)
  db.close()
  return async () => renameSync(`${file}.dump`, file)
}

async function dumpSchema({ url, schema }: Address): Promise<() => Promise<void>> {
  const kept = `${schema}_dump`
  await onServer(
    url,
    `create schema "${kept}"`,
    `do $$ declare t text; begin
      for t in select tablename from pg_tables where schemaname = '${schema}' loop
        execute format('create table "${kept}".%I (like "${schema}".%I including all)', t, t);
        execute format('insert into "${kept}".%I table "${schema}".%I', t, t);
      end loop; end $$`,
  )
  return () =>
    onServer(
      url,
      `begin; drop schema "${schema}" cascade; alter schema "${kept}" rename to "${schema}"; commit`,
    )
}

async function copySchema({ url, schema }: Address, name = 'backup'): Promise<() => Promise<void>> {
  const kept = `${schema}_${name}`
  const execute = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
  const tablesOf = async (client: pg.Client): Promise<string[]> => {
    const { rows } = await client.query('select tablename from pg_tables where schemaname = $1', [schema])
    return rows.map(({ tablename }) => String(tablename))
  }
  const filled = await execute(async (client) => {
    const tables = await tablesOf(client)
    const counts = tables.map((table) => `(select count(*) from "${schema}"."${table}") as "${table}"`)
    const { rows } = await client.query(`select ${counts.join(', ')}`)
    const some = tables.filter((table) => Number(rows[0]?.[table]) > 0)
    await client.query(
      [
        `drop schema if exists "${kept}" cascade`,
        `create schema "${kept}"`,
        ...some.map((table) => `create table "${kept}"."${table}" as table "${schema}"."${table}"`),
      ].join('; '),
    )
    return some
  })
  return () =>
    execute(async (client) => {
      const tables = await tablesOf(client)
      await client.query(
        [
          ...tables.map((table) => `delete from "${schema}"."${table}"`),
          ...filled.map((table) => `insert into "${schema}"."${table}" table "${kept}"."${table}"`),
        ].join('; '),
      )
    })
}

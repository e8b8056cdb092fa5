/** Backups of a warehouse, and how to restore them. */
import { renameSync, rmSync } from 'node:fs'
import { inFile, onServer } from './databases.js'
import type { Address } from './place.js'

/** Keeps the rows of a warehouse, and returns how to restore them. Connections to the warehouse may stay open. */
export function keepRows(address: Address, name: string): Promise<() => Promise<void>> {
  return address.url.startsWith('sqlite:') ? keepFile(address, name) : copySchema(address, name)
}

async function keepFile({ url }: Address, name: string): Promise<() => Promise<void>> {
  const file = url.slice('sqlite:'.length)
  const kept = `${file}.${name}`
  rmSync(kept, { force: true })
  inFile(file, (db) => db.exec(`vacuum into '${kept}'`))
  const back = inFile(file, (db) => {
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
  return async () => void inFile(file, (db) => db.exec(back))
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
  inFile(file, (db) => db.exec(`vacuum into '${file}.dump'`))
  return async () => renameSync(`${file}.dump`, file)
}

/** A statement that does this to each table of a schema, whose name is `t`. */
const eachTable = (schema: string, ...work: readonly string[]): string =>
  `do $$ declare t text; filled boolean; begin
    for t in select tablename from pg_tables where schemaname = '${schema}' loop ${work.join('; ')}; end loop; end $$`

async function dumpSchema({ url, schema }: Address): Promise<() => Promise<void>> {
  const kept = `${schema}_dump`
  await onServer(
    url,
    `create schema "${kept}"`,
    eachTable(
      schema,
      `execute format('create table "${kept}".%I (like "${schema}".%I including all)', t, t)`,
      `execute format('insert into "${kept}".%I table "${schema}".%I', t, t)`,
    ),
  )
  return () =>
    onServer(
      url,
      `begin; drop schema "${schema}" cascade; alter schema "${kept}" rename to "${schema}"; commit`,
    )
}

async function copySchema({ url, schema }: Address, name: string): Promise<() => Promise<void>> {
  const kept = `${schema}_${name}`
  await onServer(
    url,
    `drop schema if exists "${kept}" cascade; create schema "${kept}"`,
    // Most are empty, and a table takes longer to make than to look into.
    eachTable(
      schema,
      `execute format('select exists (select from "${schema}".%I)', t) into filled`,
      `if filled then execute format('create table "${kept}".%I as table "${schema}".%I', t, t); end if`,
    ),
  )
  const back = eachTable(
    schema,
    `execute format('delete from "${schema}".%I', t)`,
    `if to_regclass(format('"${kept}".%I', t)) is not null then
       execute format('insert into "${schema}".%I table "${kept}".%I', t, t); end if`,
  )
  return () => onServer(url, back)
}

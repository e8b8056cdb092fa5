/**
 * The limit of writing into SQLite: rows prepared in memory go into empty tables, in one transaction, with prepared
 * statements of many rows.
 */
import Database from 'better-sqlite3'
import type { Table } from '../../src/engine/model/table.js'
import { type Load, tablesOf } from '../load.js'

/** Among 1, 8, 32 and 100 rows, 32 and 100 take the least processor time, a sixth less than one. */
const rowsPerStatement = 32

const quoted = (name: string): string => `"${name}"`

interface Ready {
  readonly table: Table
  readonly rows: readonly unknown[][]
}

/** Integers come as bigints, so that none is rounded; those that fit a double are bound as numbers, which is faster. */
const narrowed = (value: unknown): unknown =>
  typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value

function insert(db: Database.Database, { table, rows }: Ready): void {
  const row = `(${table.columns.map(() => '?').join(',')})`
  const names = table.columns.map(({ name }) => quoted(name)).join(',')
  const statement = (count: number): Database.Statement<unknown[]> =>
    db.prepare(
      `insert into ${quoted(table.name)} (${names}) values ${Array<string>(count).fill(row).join(',')}`,
    )
  const whole = rows.length - (rows.length % rowsPerStatement)
  if (whole > 0) {
    const many = statement(rowsPerStatement)
    for (let at = 0; at < whole; at += rowsPerStatement)
      many.run(rows.slice(at, at + rowsPerStatement).flat())
  }
  const one = statement(1)
  for (const last of rows.slice(whole)) one.run(last)
}

/** Reads the rows of a filled warehouse into memory; returns what writes them. */
export async function ready({ url, resources }: Load): Promise<() => Promise<void>> {
  const db = new Database(url.slice('sqlite:'.length), { readonly: true })
  const all = tablesOf(resources).map((table) => {
    const names = table.columns.map(({ name }) => quoted(name)).join(',')
    const statement = db.prepare<[], unknown[]>(`select ${names} from ${quoted(table.name)}`)
    const rows = statement.raw().safeIntegers().all()
    return { table, rows: rows.map((row) => row.map(narrowed)) }
  })
  db.close()
  return async () => write(url, all)
}

function write(url: string, all: readonly Ready[]): void {
  const db = new Database(url.slice('sqlite:'.length))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  // Keeps SQLite from writing pages early that it would have to write again.
  db.pragma('cache_size = -1000000')
  db.transaction(() => {
    for (const one of all) insert(db, one)
  })()
  db.close()
}

/**
 * What a good engineer writes by hand for SQLite: one page after the other, one transaction a page, one prepared upsert a
 * row. No guard, no children removed, no progress.
 */
import Database from 'better-sqlite3'
import { type Columns, quoted, upsertTail } from '../floor/columns.js'
import type { Load } from '../floor/load.js'
import type { Cell, Row } from '../floor/rows.js'
import { pages, type RawPage } from './fetch.js'

type Upsert = (tenant: number, syncedAt: string, row: Row) => void

function upsertOf(db: Database.Database, table: Columns[number]): Upsert {
  const names = table.columns.map(({ name }) => quoted(name))
  const statement = db.prepare<unknown[]>(
    `insert into ${quoted(table.name)} (${names.join(',')}) values (${names.map(() => '?').join(',')}) ${upsertTail(table)}`,
  )
  return (tenant, syncedAt, row) => {
    let at = 0
    const values = table.columns.map(({ name }): Cell => {
      if (name === 'tenant_id') return tenant
      if (name === '_synced_at') return syncedAt
      if (name === '_deleted_at') return null
      const value = row[at++] ?? null
      return typeof value === 'boolean' ? Number(value) : value
    })
    statement.run(values)
  }
}

export async function load(given: Load): Promise<void> {
  const db = new Database(given.url.slice('sqlite:'.length))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  const upserts = new Map(given.columns.map((table) => [table.name, upsertOf(db, table)]))
  const store = db.transaction(({ tenant, tables }: RawPage) => {
    const syncedAt = new Date().toISOString().replace('Z', '000Z')
    for (const [table, rows] of tables) for (const row of rows) upserts.get(table)?.(tenant, syncedAt, row)
  })
  for await (const page of pages(given)) store(page)
  db.close()
}

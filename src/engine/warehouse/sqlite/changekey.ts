/**
 * SQLite can't change a key. So the table is created again next to the old one, from its own text, gets the rows, and
 * then the name. That way a user's columns stay, and anything that refers to the table only by name, such as a view,
 * isn't affected.
 */

import type BetterSqlite3 from 'better-sqlite3'
import { type CompiledQuery, sql } from 'kysely'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'
import type { KeyChange, LiveIndex, Obstacle } from '../dialect.js'

/** How every version of shopsync writes its tables. */
const opening = (table: string): string => `CREATE TABLE "${table}" (`
const keyText = (columns: readonly (string | null)[]): string =>
  `primary key (${columns.map((name) => `"${name}"`).join(', ')})`

/** What else exists for a table: the indexes, then the triggers, each as it was typed. */
const madeOf = (raw: BetterSqlite3.Database, table: string) =>
  raw
    .prepare<[string], { readonly type: string; readonly name: string; readonly sql: string }>(
      "select type, name, sql from sqlite_schema where tbl_name = ? and type in ('index', 'trigger') and sql is not null order by type, rowid",
    )
    .all(table)

/** Foreign keys refer to the columns of a key, and delete rows when a table is dropped. */
function foreignKeys(raw: BetterSqlite3.Database, { name, key }: Table): Obstacle[] {
  const found = raw
    .prepare<[string], { table: string; columns: string }>(
      `select m.name as "table", group_concat(f."from", ', ') as columns
       from sqlite_schema m, pragma_foreign_key_list(m.name) f
       where m.type = 'table' and lower(f."table") = lower(?) group by m.name, f.id order by m.name, f.id`,
    )
    .all(name)
  return found.map(({ table, columns }) => ({
    problem: `the foreign key (${columns}) of the table ${table} refers to it`,
    hint: `Create ${table} again without that foreign key; one on (${key.join(', ')}) can be added afterwards`,
  }))
}

/** The table's columns that store values. */
const storedColumns = (raw: BetterSqlite3.Database, table: string): string[] =>
  raw.prepare<[string], string>('select name from pragma_table_xinfo(?) where hidden = 0').pluck().all(table)

const strange = (table: string): Obstacle => ({
  problem: 'shopsync did not create it in this form',
  hint: `Rename or drop ${table}: migrate creates it again, and the next sync fills it`,
})

export function changeKey(
  raw: BetterSqlite3.Database,
  db: Db,
  table: Table,
  live: LiveIndex | undefined,
): KeyChange {
  const { name, key } = table
  const text = raw
    .prepare<[string], string>("select sql from sqlite_schema where type = 'table' and name = ?")
    .pluck()
    .get(name)
  const [before = '', after = '', ...more] = (live && text?.split(keyText(live.columns))) ?? []
  if (after === '' || more.length > 0 || !before.startsWith(opening(name)))
    return { statements: [], obstacles: [strange(name)] }
  const beside = `${name}_beside`
  const columns = sql.join(storedColumns(raw, name).map((column) => sql.id(column)))
  return {
    statements: [
      sql.raw(`${opening(beside)}${before.slice(opening(name).length)}${keyText(key)}${after}`),
      // Things made by others, such as a full-text index, may refer to a row by its rowid.
      sql`insert into ${sql.id(beside)} (rowid, ${columns}) select rowid, ${columns} from ${sql.id(name)}`,
      sql`drop table ${sql.id(name)}`,
      // Otherwise SQLite parses every view and trigger again, and fails if one names the table that is gone.
      sql`pragma legacy_alter_table = on`,
      sql`alter table ${sql.id(beside)} rename to ${sql.id(name)}`,
      sql`pragma legacy_alter_table = off`,
      ...madeOf(raw, name).map((entry) => sql.raw(entry.sql)),
    ].map((statement): CompiledQuery => statement.compile(db)),
    obstacles: foreignKeys(raw, table),
  }
}

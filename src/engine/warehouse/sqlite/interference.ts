import type BetterSqlite3 from 'better-sqlite3'
import type { Interference } from '../dialect.js'

export function interferences(raw: BetterSqlite3.Database, tables: readonly string[]): Interference[] {
  const found = raw
    .prepare<[string], { readonly table: string; readonly name: string; readonly type: 'trigger' | 'view' }>(
      `select tbl_name as "table", name, type from sqlite_master
        where type in ('trigger', 'view') and tbl_name in (select value from json_each(?)) order by name`,
    )
    .all(JSON.stringify(tables))
  return found.map(({ table, name, type }) => ({
    table,
    isHarmful: type === 'view',
    ...(type === 'trigger'
      ? { problem: `the trigger ${name}`, hint: `Type: drop trigger ${name}` }
      : {
          problem: 'a view in place of the table',
          hint: `Rename or drop the view ${name}: the next run creates the table again and fills it`,
        }),
  }))
}

import type BetterSqlite3 from 'better-sqlite3'
import type { Table } from '../../model/table.js'
import type { LiveIndex } from '../dialect.js'

/**
 * The columns of an index come in order, which an aggregate preserves only from an ordered subquery. A key that is one
 * whole number has no index: it is the table's own.
 */
const indexes = `select m.name as "table", l.name as name, 0 as is_primary,
    (select json_group_array(name) from (select name from pragma_index_info(l.name) order by seqno)) as columns
  from sqlite_schema m, pragma_index_list(m.name) l
  where m.type = 'table' and l.origin <> 'pk' and m.name not like 'sqlite!_%' escape '!'
  union all
  select m.name, m.name, 1, (select json_group_array(name) from
    (select name from pragma_table_info(m.name) where pk > 0 order by pk)) as columns
  from sqlite_schema m
  where m.type = 'table' and m.name not like 'sqlite!_%' escape '!' and columns <> '[]'`

export const liveIndexes = (raw: BetterSqlite3.Database): LiveIndex[] =>
  raw
    .prepare<
      [],
      {
        readonly table: string
        readonly name: string
        readonly is_primary: bigint
        /** JSON. */
        readonly columns: string
      }
    >(indexes)
    .all()
    .map(({ table, name, is_primary, columns }) => ({
      table,
      name,
      columns: JSON.parse(columns) as (string | null)[],
      isPrimary: is_primary === 1n,
    }))

/** SQLite can't change a key, so another table takes its place. */
export const keyStatement = ({ name }: Table): string => `alter table "${name}" rename to "${name}_before"`

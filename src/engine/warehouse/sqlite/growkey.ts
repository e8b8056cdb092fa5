import { type CompiledQuery, sql } from 'kysely'
import type { GrownKey } from '../../model/statetable.js'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'

/**
 * SQLite cannot change a key: the rows step aside while the table is made anew. They are copied twice and no table is
 * renamed, because a rename fails where somebody's own view stands on the table.
 */
export function growKey(
  db: Db,
  { name, columns }: Table,
  { column, value }: GrownKey,
  anew: readonly CompiledQuery[],
): CompiledQuery[] {
  const [table, aside, grown] = [sql.id(name), sql.id(`${name}_aside`), sql.id(column)]
  const all = sql.join(columns.map((one) => sql.id(one.name)))
  return [
    sql`create table ${aside} as select *, ${sql.lit(value)} as ${grown} from ${table}`.compile(db),
    sql`drop table ${table}`.compile(db),
    ...anew,
    sql`insert into ${table} (${all}) select ${all} from ${aside}`.compile(db),
    sql`drop table ${aside}`.compile(db),
  ]
}

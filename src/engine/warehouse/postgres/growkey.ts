import { type CompiledQuery, sql } from 'kysely'
import type { GrownKey } from '../../model/statetable.js'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'

/** Postgres keeps the rows where they are: a default that is a constant is written into none of them. */
export function growKey(
  db: Db,
  schema: string,
  { name, key }: Table,
  { column, value }: GrownKey,
): CompiledQuery[] {
  const [table, grown, constraint] = [sql.id(schema, name), sql.id(column), sql.id(`${name}_key`)]
  const all = sql.join(key.map((one) => sql.id(one)))
  return [
    sql`alter table ${table} add column ${grown} bigint not null default ${sql.lit(value)},
      drop constraint ${constraint}, add constraint ${constraint} primary key (${all})`.compile(db),
    sql`alter table ${table} alter column ${grown} drop default`.compile(db),
  ]
}

import { sql } from 'kysely'
import pg from 'pg'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'
import type { LiveIndex } from '../dialect.js'

/** An attribute number of 0 means an expression, which has no column. */
export async function liveIndexes(db: Db, schema: string): Promise<LiveIndex[]> {
  const { rows } = await sql<LiveIndex>`
    select c.relname as "table", i.relname as name, x.indisprimary as "isPrimary",
      array(select a.attname::text
        from unnest(x.indkey::int2[]) with ordinality k (attnum, place)
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
        where k.place <= x.indnkeyatts order by k.place) as columns
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
      join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema}`.execute(db)
  return rows
}

export function keyStatement(schema: string, { name, key }: Table, live: LiveIndex | undefined): string {
  const table = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`
  const drop = live ? ` drop constraint ${pg.escapeIdentifier(live.name)},` : ''
  return `alter table ${table}${drop} add primary key (${key.map((column) => pg.escapeIdentifier(column)).join(', ')})`
}

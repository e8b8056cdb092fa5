import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Db } from '../database.js'
import type { LiveIndex, TableSize } from '../dialect.js'

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

export async function sizeOf(db: Db, schema: string, table: string): Promise<TableSize> {
  const name = sql.id(schema, table)
  const { rows } = await sql<{ rows: Int64; bytes: Int64 }>`
    select count(*) as rows, pg_total_relation_size(to_regclass(${`"${schema}"."${table}"`})) as bytes
    from ${name}`.execute(db)
  return { rows: Number(rows[0]?.rows ?? 0), bytes: Number(rows[0]?.bytes ?? 0) }
}

import { sql } from 'kysely'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'
import type { StatementCache } from './session.js'

/** New statistics are made when at least this share of a table was written since the last ones. */
const staleShare = 0.1
/** Buckets of a histogram: a tenth of the default, in a tenth of the time. */
const buckets = 10

/**
 * The columns by which rows are found, joined, and picked: without statistics, an order in progress would seem as rare as
 * one of ten thousand. The other columns take most of the time. An `analyze` with column
 * names doesn't reset the server's count of changes, so its autovacuum makes statistics of all columns within minutes.
 */
function soughtColumns(table: Table): string[] {
  const sought = new Set([...table.key, table.owner, 'updated_at', '_deleted_at', '_unlisted_at'])
  const indexed = new Set(table.indexes.flat())
  return table.columns
    .filter(({ name, values }) => sought.has(name) || indexed.has(name) || values !== undefined)
    .map(({ name }) => name)
}

/** Makes statistics of these columns, by table. */
export async function analyzeColumns(
  db: Db,
  schema: string,
  tables: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  if (tables.size === 0) return
  const each = [...tables].map(([name, columns]) => {
    const list = sql.join(columns.map((column) => sql.id(column)))
    return sql`${sql.id(schema, name)} (${list})`
  })
  await db.transaction().execute(async (transaction) => {
    await sql`set local default_statistics_target = ${sql.lit(buckets)}`.execute(transaction)
    await sql`analyze ${sql.join(each)}`.execute(transaction)
  })
}

/**
 * Updates the statistics of tables that changed a lot. All tables would take half a second, too long for an idle run.
 * A table of ours that never had any gets them, too: the server makes none for fewer than 50 rows, and takes such a table,
 * or an empty one, for one of a thousand. Views that look up a tenant's name would seem to cost a hundred times as much, and be compiled for
 * seconds (jit_above_cost).
 */
export async function analyze(cache: StatementCache, tables: readonly Table[]): Promise<void> {
  const { db, schema, written } = cache
  const sizes = await sql<{ name: string; rows: number; isUnknown: boolean }>`
    select c.relname as name, c.reltuples::float8 as rows,
      c.relkind = 'r' and c.reltuples < 0 and pg_has_role(c.relowner, 'usage') as "isUnknown"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p')`.execute(db)
  const found = new Map(sizes.rows.map((row) => [row.name, row]))
  const changed = (table: Table): number => written.get(table.name) ?? 0
  const stale = tables.filter(
    (table) => changed(table) > Math.max(0, found.get(table.name)?.rows ?? 0) * staleShare,
  )
  const unknown = tables.filter((table) => changed(table) === 0 && found.get(table.name)?.isUnknown)
  const waiting = stale.toSorted((a, b) => changed(b) - changed(a)).values()
  // The largest first, two at a time: the run waits for the last of them.
  const make = (of: readonly Table[]) =>
    analyzeColumns(db, schema, new Map(of.map((table) => [table.name, soughtColumns(table)])))
  const lane = async (): Promise<void> => {
    for (const table of waiting) await make([table])
  }
  await Promise.all([lane(), lane()])
  await make(unknown)
  for (const table of stale) written.delete(table.name)
}

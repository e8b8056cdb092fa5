import { sql } from 'kysely'
import { joinedNames } from '../../base/format.js'
import type { Db } from '../database.js'
import type { Traces } from '../dialect.js'
import { analyzeColumns } from './statistics.js'

/**
 * Removes the deleted versions of rows from the tables: until a `vacuum`, they are still there, unseen. The planner's
 * statistics keep some values too, until they are made again. That takes far longer, so where `columns` has those of a
 * table, it is done for them only, and more coarsely.
 */
export async function vacuum(
  db: Db,
  schema: string,
  tables: readonly string[],
  columns?: ReadonlyMap<string, readonly string[]>,
): Promise<Traces> {
  const { ours, theirs } = await owned(db, schema, tables)
  const inPart = new Map<string, readonly string[]>()
  for (const { name, isRead } of ours) {
    const some = columns?.get(name) ?? []
    if (some.length > 0) inPart.set(name, some)
    await clearStatistics(db, schema, name, some)
    // To give pages back, it would wait five seconds for those who read the table.
    const how = sql.raw(`analyze ${some.length === 0}, truncate ${!isRead}`)
    await sql`vacuum (${how}) ${sql.id(schema, name)}`.execute(db)
  }
  await analyzeColumns(db, schema, inPart)
  return {
    left:
      theirs.length === 0
        ? null
        : `Traces remain in ${joinedNames(theirs)}, since only the owner may vacuum them. Put the owner's role into warehouse.url`,
    elsewhere:
      'Backups, replicas and the WAL of the server keep what they hold until they are recycled; blocks of the tables until they are written again',
  }
}

/** A vacuum by another role does nothing, without an error. */
async function owned(db: Db, schema: string, tables: readonly string[]) {
  const { rows } = await sql<{ name: string; isOurs: boolean; isRead: boolean }>`select c.relname as name,
      pg_has_role(c.relowner, 'usage') or pg_has_role(d.datdba, 'usage') as "isOurs",
      exists (select from pg_locks l where l.database = d.oid and l.relation = c.oid and l.pid <> pg_backend_pid()) as "isRead"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_database d on d.datname = current_database()
    where n.nspname = ${schema} and c.relname = any(${[...tables]}::text[])`.execute(db)
  return {
    ours: rows.filter(({ isOurs }) => isOurs),
    theirs: rows.flatMap(({ name, isOurs }) => (isOurs ? [] : name)),
  }
}

/**
 * Removes what the planner remembers of a table, or of these columns of it. An `analyze` that comes across no row, as in
 * an empty table, replaces nothing: without this, names would stay in `pg_stats` for good.
 */
export async function clearStatistics(
  db: Db,
  schema: string,
  name: string,
  columns: readonly string[],
): Promise<void> {
  const known = sql`pg_stats where schemaname = ${schema} and tablename = ${name} and not inherited`
  const { rows } = await sql<{ column: string; clears: boolean }>`select attname as column,
      to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') is not null as clears
    from ${known}`.execute(db)
  const [first] = rows
  if (!first) return
  if (!first.clears) return forgetEmptyTable(db, schema, name)
  const of = columns.length > 0 ? sql` and attname = any(${[...columns]}::text[])` : sql``
  await sql`select pg_clear_attribute_stats(schemaname, tablename, attname, false) from ${known}${of}`.execute(
    db,
  )
}

/**
 * The same before Postgres 18, for a table without rows: its statistics are made again of one that nobody ever sees.
 * Exported for a test: the tests' own server is newer.
 */
export async function forgetEmptyTable(db: Db, schema: string, name: string): Promise<void> {
  const table = sql.id(schema, name)
  const needed = await sql<{ column: string; value: string }>`select attname as column,
      case typcategory when 'D' then 'epoch' else '0' end as value
    from pg_attribute join pg_type t on t.oid = atttypid
    where attrelid = to_regclass(${`"${schema}"."${name}"`}) and attnum > 0 and not attisdropped
      and attnotnull and not atthasdef and attidentity = ''`.execute(db)
  const columns = sql.join(needed.rows.map(({ column }) => sql.id(column)))
  const values = sql.join(needed.rows.map(({ value }) => sql.lit(value)))
  const row = needed.rows.length > 0 ? sql`(${columns}) values (${values})` : sql`default values`
  await db.transaction().execute(async (transaction) => {
    const { rows } = await sql`select 1 from ${table} limit 1`.execute(transaction)
    if (rows.length > 0) return
    const made = await sql<{
      place: string
    }>`insert into ${table} ${row} returning ctid::text as place`.execute(transaction)
    await sql`analyze ${table}`.execute(transaction)
    // By its place: others may have stored rows meanwhile.
    const place = made.rows[0]?.place ?? null
    await sql`delete from ${table} where ctid = ${place}::tid`.execute(transaction)
  })
}

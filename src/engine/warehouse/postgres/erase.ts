import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.js'
import type { Traces } from '../dialect.js'
import { buckets } from './statistics.js'

/**
 * Removes the deleted versions of rows from the tables: until a `vacuum`, they are still there, unseen. The planner's
 * statistics keep some values too, until they are made again. That takes far longer, so where `columns` has those of a
 * table, it is done for them only, and more coarsely.
 */
export async function vacuum(
  db: Kysely<Database>,
  schema: string,
  tables: readonly string[],
  columns?: ReadonlyMap<string, readonly string[]>,
): Promise<Traces> {
  const some = tables.flatMap((name) => {
    const of = columns?.get(name) ?? []
    return of.length === 0 ? [] : [{ name, list: sql.join(of.map((column) => sql.id(column))) }]
  })
  const isInPart = new Set(some.map(({ name }) => name))
  for (const name of tables)
    await sql`vacuum ${isInPart.has(name) ? sql`` : sql`(analyze) `}${sql.id(schema, name)}`.execute(db)
  if (some.length > 0)
    await db.transaction().execute(async (transaction) => {
      await sql`set local default_statistics_target = ${sql.lit(buckets)}`.execute(transaction)
      const each = some.map(({ name, list }) => sql`${sql.id(schema, name)} (${list})`)
      await sql`analyze ${sql.join(each)}`.execute(transaction)
    })
  return {
    left: null,
    elsewhere:
      'Backups, replicas and the WAL of the server keep what they hold until they are recycled; blocks of the tables until they are written again',
  }
}

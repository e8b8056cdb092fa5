import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.js'
import type { Traces } from '../dialect.js'

/**
 * Removes the deleted versions of rows from the tables: until a `vacuum`, they are still there, unseen. The planner's
 * statistics keep some values too, until they are made again.
 */
export async function vacuum(
  db: Kysely<Database>,
  schema: string,
  tables: readonly string[],
): Promise<Traces> {
  for (const name of tables) await sql`vacuum (analyze) ${sql.id(schema, name)}`.execute(db)
  return {
    left: null,
    elsewhere:
      'Backups, replicas and the WAL of the server keep what they hold until they are recycled; blocks of the tables until they are written again',
  }
}

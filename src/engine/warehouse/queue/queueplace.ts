/** Where the queue of deliveries is, and who may make it. Used by queueview.ts and deliveryqueue.ts. */
import { sql } from 'kysely'
import { Stop } from '../../base/errors.js'
import type { Db } from '../database.js'
import type { Obstacle } from '../dialect.js'
import { type Names, plain } from '../postgres/drivererrors.js'

/** The one queue of a schema. */
export const queueName = 'shopsync'

/** pg-boss's limit. */
export const longestName = 50

/** The schema of the queue. Throws Stop if its name would be too long. */
export function queueSchema(schema: string): string {
  const name = `${schema}_queue`
  if (name.length <= longestName) return name
  throw new Stop(
    `warehouse.schema: found ${JSON.stringify(schema)}, expected at most ${longestName - '_queue'.length} characters, because the queue for workers is in the schema ${name}`,
    {
      exitCode: 2,
      hint: `Type alter schema ${schema} rename to a shorter name, and write that into warehouse.schema`,
    },
  )
}

/** What to type if anything is wrong with the queue. */
export const dropping = (schema: string): string =>
  `Type drop schema ${queueSchema(schema)} cascade: it holds nothing worth keeping, and the next worker or schedule makes it again`

/** What the owner of the database types for a role that may not make the queue's schema. */
export function missingRight(schema: string, { role }: Names): Obstacle {
  const place = queueSchema(schema)
  return {
    problem: `${role} may not make the schema ${place}, which holds the queue for workers`,
    hint: `Type, as the owner of the database: create schema ${place} authorization ${plain(role)}; if the schema is there: grant usage, create on schema ${place} to ${plain(role)}`,
  }
}

/** Whether the schema is there, and what keeps this user from making it or its tables. */
export async function queueRights(
  db: Db,
  names: Names,
): Promise<{ readonly isThere: boolean; readonly obstacle: Obstacle | undefined }> {
  const place = queueSchema(names.schema)
  const { rows } = await sql<{ there: boolean; may: boolean }>`select n.oid is not null as there,
      case when n.oid is null then has_database_privilege(current_database(), 'create')
        else has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') end as may
    from (select 1) one left join pg_namespace n on n.nspname = ${place}`.execute(db)
  const [{ there = false, may = false } = {}] = rows
  return { isThere: there, obstacle: may ? undefined : missingRight(names.schema, names) }
}

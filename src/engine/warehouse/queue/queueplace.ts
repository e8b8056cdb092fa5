/**
 * The queue of deliveries for those who only look: where it is, who may make it, and what is in it. No library is loaded
 * for that. Used by postgres/dialect.ts and deliveryqueue.ts, which fills and empties the queue.
 */
import { type RawBuilder, sql } from 'kysely'
import { Stop } from '../../base/errors.js'
import { codeOf } from '../classify.js'
import type { Db } from '../database.js'
import type { Obstacle } from '../dialect.js'
import { denied, type Names, plain } from '../postgres/drivererrors.js'
import type { SeenDelivery, SeenQueue } from './deliveries.js'

/** The one queue of a schema. */
export const queueName = 'shopsync'

/** pg-boss's limit. */
const longestName = 50

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

const text = (member: string): RawBuilder<string> => sql`data ->> ${sql.lit(member)}`

/** Silence of a worker until its delivery counts as waiting: longer than it takes to be given to another one. */
const silent = sql`heartbeat_on < now() - interval '1 minute'`

/** Of each job the newest round. A delivery that is put back is new, and still of its round. */
const deliveries = (place: string): RawBuilder<SeenDelivery> => sql`
  with rounds as (
    select distinct on (data ->> 'job') data ->> 'job' as job, data ->> 'planned_at' as round
    from ${sql.id(place, 'job')} where name = ${queueName} order by data ->> 'job', created_on desc, id
  ), seen as (
    select data, created_on, start_after, case when state = 'completed' then 'done'
      when state = 'active' and not ${silent} then 'active' else 'waiting' end as status
    from ${sql.id(place, 'job')} j join rounds on j.data ->> 'job' = rounds.job and j.data ->> 'planned_at' = rounds.round
    where j.name = ${queueName} and state <= 'completed'
  )
  select ${text('job')} as job, ${text('planned_at')} as planned_at,
    (${text('shards')})::int as shards, ${text('part')} as part, status, ${text('worker')} as worker, ${text('died')} as died,
    coalesce((${text('deaths')})::int, 0) as deaths,
    case when status = 'waiting'
      then greatest(0, extract(epoch from now() - greatest(created_on, start_after)))::float8 else 0 end as waited
  from (select distinct on (data ->> 'job', data ->> 'part') * from seen
    order by data ->> 'job', data ->> 'part', created_on desc) last
  order by 1, 5`

async function look(db: Db, schema: string): Promise<SeenQueue | undefined> {
  if (`${schema}_queue`.length > longestName) return undefined
  const place = queueSchema(schema)
  const there = await sql<{ found: boolean }>`select to_regclass(${`${place}.job`}) is not null
    and to_regclass(${`${place}.instance`}) is not null as found`.execute(db)
  if (!there.rows[0]?.found) return undefined
  const { rows } = await sql<{ workers: number; idle: number | null }>`select
    (select count(*)::int from ${sql.id(place, 'instance')} where name = 'worker' and stopped_on is null
      and heartbeat_on > now() - 3 * heartbeat_seconds * interval '1 second') as workers,
    (select extract(epoch from now() - max(started_on))::float8 from ${sql.id(place, 'job')}
      where name = ${queueName}) as idle`.execute(db)
  const [counts] = rows
  return {
    workers: counts?.workers ?? 0,
    idle: counts?.idle ?? null,
    deliveries: (await deliveries(place).execute(db)).rows,
  }
}

/** undefined if there is none, or if the user may not read its schema, as a role for readers mayn't. */
export const seenQueue = (db: Db, schema: string): Promise<SeenQueue | undefined> =>
  look(db, schema).catch((error: unknown) => {
    if (codeOf(error) === denied) return undefined
    throw error
  })

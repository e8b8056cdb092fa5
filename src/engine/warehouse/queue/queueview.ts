/**
 * How the queue of deliveries looks to those who only look: no library is loaded for that. Used by postgres/dialect.ts;
 * deliveryqueue.ts fills and empties the queue.
 */
import { type PostgresPool, type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.js'
import type { Names } from '../postgres/drivererrors.js'
import type { DeliveryPlace, SeenDelivery, SeenQueue } from './deliveries.js'
import { longestName, queueName, queueRights, queueSchema } from './queueplace.js'

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

async function seenQueue(db: Db, schema: string): Promise<SeenQueue | undefined> {
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

/** Whether the user may not read the queue's schema, as a role for readers mayn't. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '42501'

export const queuePlace = (db: Db, names: Names, connect: () => PostgresPool): DeliveryPlace => ({
  seen: () =>
    seenQueue(db, names.schema).catch((error: unknown) => {
      if (isRefused(error)) return undefined
      throw error
    }),
  obstacle: async () => (await queueRights(db, names)).obstacle,
  open: async (options) => (await import('./deliveryqueue.js')).openDeliveries(connect(), db, names, options),
})

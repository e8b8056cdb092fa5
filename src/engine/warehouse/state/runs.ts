/* The record of runs. No other file's statements read or write sync_runs; the run that holds the lease executes them. */
import {
  type CompiledQuery,
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type SqlBool,
  sql,
  type UpdateObject,
} from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { latest, toMicros } from '../../base/timestamp.js'
import { type StateRows, stateTables } from '../../model/state.js'
import type { Database, Db, Reader } from '../database.js'
import { storedRow } from './storedrow.js'

/** A run: its row, whose columns model/state.ts explains. */
export type RunRow = Readonly<StateRows['sync_runs']>

/**
 * `mode` of the rows that record what events triggered, one per hour. They aren't runs of their own, so they don't
 * count as the last run.
 */
export const eventsMode = 'events'

/* Reading. */

/** All runs, but for what is said. */
interface RunFilter {
  /** null: those of no job. */
  readonly job?: string | null | undefined
  readonly mode?: string | undefined
  /** Such as `3/8`. null: those of no shard. */
  readonly shard?: string | null | undefined
  /** Started at this instant or later; canonical. */
  readonly since?: string | undefined
  /** false: without the rows about events. */
  readonly withEvents?: boolean | undefined
  readonly where?: ((eb: ExpressionBuilder<Database, 'sync_runs'>) => Expression<SqlBool>) | undefined
}

/** Their ids, or a query for them. */
export type Runs = readonly string[] | ReturnType<typeof runIds>

/** Their ids, as a part of another statement. */
export function runIds(db: Db, { job, mode, shard, since, withEvents, where }: RunFilter) {
  let query = db.selectFrom('sync_runs').select('run_id')
  if (job !== undefined) query = job === null ? query.where('job', 'is', null) : query.where('job', '=', job)
  if (mode !== undefined) query = query.where('mode', '=', mode)
  if (withEvents === false)
    query = query.where(({ eb, fn, val }) => eb(fn.coalesce('mode', val('')), '<>', eventsMode))
  if (shard !== undefined)
    query = shard === null ? query.where('shard', 'is', null) : query.where('shard', '=', shard)
  if (since !== undefined) query = query.where('started_at', '>=', since)
  return where ? query.where(where) : query
}

/**
 * The runs as a statement of a transaction, the one that was recorded last first: ordered by time, a run under a clock
 * that was once wrong would stay the last one until that time comes.
 */
export const runQuery = (db: Db, filter: RunFilter) =>
  runIds(db, filter)
    .clearSelect()
    .selectAll()
    .orderBy(sql`coalesce(seq, 0)`, 'desc')
    .orderBy('started_at', 'desc')
    // Ids only show the second.
    .orderBy('run_id', 'desc')

const runOf = (row: RunRow): RunRow => storedRow(stateTables.sync_runs, row)

/** How many runs are read at once if nobody knows how many it takes. */
const batch = 200

/** The runs, the one that was recorded last first. */
export async function* runsBack(reader: Reader, filter: RunFilter): AsyncGenerator<readonly RunRow[]> {
  for (let offset = 0; ; offset += batch) {
    const rows = await reader.read((db) => runQuery(db, filter).limit(batch).offset(offset).execute())
    yield rows.map(runOf)
    if (rows.length < batch) return
  }
}

/** The last of these runs. */
export async function lastRecorded(reader: Reader, filter: RunFilter): Promise<RunRow | undefined> {
  const row = await reader.read((db) => runQuery(db, filter).limit(1).executeTakeFirst())
  return row && runOf(row)
}

export const listRuns = async (reader: Reader, filter: RunFilter): Promise<RunRow[]> =>
  (await reader.read((db) => runQuery(db, filter).execute())).map(runOf)

export const isAnyRun = async (reader: Reader, filter: RunFilter): Promise<boolean> =>
  (await reader.read((db) => runIds(db, filter).limit(1).execute())).length > 0

/** The runs that began in a time range, oldest first. */
export const runsBetween = (reader: Reader, from: string, to: string, most: number): Promise<RunRow[]> =>
  reader.read((db) =>
    db
      .selectFrom('sync_runs')
      .selectAll()
      .where('started_at', '>=', from)
      .where('started_at', '<', to)
      .orderBy('started_at')
      .limit(most)
      .execute(),
  )

/** When the oldest run on record began. Nothing earlier is recorded. */
export const knownSince = (reader: Reader): Promise<string | null> =>
  reader.read(async (db) => {
    const oldest = db.selectFrom('sync_runs').select((eb) => eb.fn.min<string | null>('started_at').as('at'))
    return (await oldest.executeTakeFirst())?.at ?? null
  })

/** The newest moments that runs have recorded. */
const newestTimes = (db: Db) =>
  db
    .selectFrom('sync_runs')
    .select((eb) => [
      eb.fn.max<string | null>('started_at').as('started'),
      eb.fn.max<string | null>('finished_at').as('finished'),
      eb.fn.max<string | null>('stamped_until').as('stamped'),
    ])

/** The same, with the highest token. */
export const highestOfRuns = (db: Db) =>
  newestTimes(db)
    .select((eb) => eb.fn.max<Int64 | null>('token').as('token'))
    .compile()

/** The newest moment that any run has recorded, in microseconds. New stamps must be later. */
export async function newestStamp(reader: Reader): Promise<bigint> {
  const row = await reader.read((db) => newestTimes(db).executeTakeFirst())
  return toMicros(latest([row?.started, row?.finished, row?.stamped]))
}

/** The last stamp of all finished runs; with `shard`, of that shard's. In older versions, it was a run's end. */
export const lastStamp = (db: Db, shard: string | undefined) =>
  runIds(db, { shard })
    .clearSelect()
    .select((eb) => eb.fn.max<string | null>(eb.fn.coalesce('stamped_until', 'finished_at')).as('at'))

/** A run whose end will never be recorded: it has none, and no lease. Beside it, runs of other shards are at work. */
export const isOrphan = (db: Db): Expression<SqlBool> =>
  sql<SqlBool>`${sql.ref('status')} = 'running' and ${sql.ref('run_id')} not in ${db
    .selectFrom('sync_lease')
    .select('owner')
    .where('owner', 'is not', null)}`

/** Returns one row if the end of the run is on record. */
export const hasEnded = (db: Db, runId: string) =>
  db
    .selectFrom('sync_runs')
    .select('run_id')
    .where('run_id', '=', runId)
    .where('finished_at', 'is not', null)
    .compile()

/* Writing. */

/**
 * A killed run couldn't record its own end; the next holder of the lease knows that it has ended, and that its own stamps
 * begin after it. Returns these runs.
 */
export const endOrphans = (db: Db) =>
  db
    .updateTable('sync_runs')
    .set((eb) => ({
      status: 'interrupted',
      stamped_until: eb
        .selectFrom('sync_lease')
        .select((lease) => lease.fn.max<string | null>('stamps_from').as('at')),
    }))
    .where(isOrphan(db))
    .returning(['job', 'mode'])
    .compile()

export const startRun = (
  db: Db,
  row: Insertable<StateRows['sync_runs']> & { status: string },
): CompiledQuery =>
  db
    .insertInto('sync_runs')
    .values((eb) => ({
      ...row,
      seq: eb
        .selectFrom('sync_runs')
        .select((all) => all(all.fn.coalesce(all.fn.max('seq'), all.lit(0)), '+', all.lit(1)).as('next')),
    }))
    // The statement is repeated if the response to its commit was lost.
    .onConflict((c) => c.column('run_id').doUpdateSet({ status: row.status }))
    .compile()

export const updateRun = (
  db: Db,
  runId: string,
  columns: UpdateObject<Database, 'sync_runs'>,
): CompiledQuery => db.updateTable('sync_runs').set(columns).where('run_id', '=', runId).compile()

/** What a statement adds to counts of a row. */
export const added = (table: 'sync_runs' | 'sync_run_cursors', counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(counts).map(([name, more]) => [
      name,
      sql<number>`coalesce(${sql.ref(`${table}.${name}`)}, 0) + ${more}`,
    ]),
  )

/** Deletes the run, with `where` only if that holds. */
export function deleteRun(db: Db, runId: string, where?: RunFilter['where']): CompiledQuery {
  const run = db.deleteFrom('sync_runs').where('run_id', '=', runId)
  return (where ? run.where(where) : run).compile()
}

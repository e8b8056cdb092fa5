/* The statements that record runs in sync_runs and sync_run_cursors. The run executes them under its lease. */
import {
  type CompiledQuery,
  type Expression,
  type Insertable,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Shard } from '../../base/shard.js'
import { toMicros } from '../../base/timestamp.js'
import type { StateRows } from '../../model/state.js'
import type { Dialect } from '../dialect.js'
import { type CursorKey, cursorName, lastSuccesses, type Reader } from './cursors.js'
import { isOfShard } from './shardsql.js'

/**
 * The order of runs: the number under which each was recorded. Ordered by time, a run under a clock that was once wrong
 * would stay the last one until that time comes.
 */
export const bySeq: RawBuilder<unknown> = sql`coalesce(${sql.ref('seq')}, 0)`

/** Whether runs have numbers: a warehouse of an older version that hasn't been migrated has no column for them. */
async function isNumbered(db: Dialect['db']): Promise<boolean> {
  const some = await db.selectFrom('sync_runs').selectAll().limit(1).executeTakeFirst()
  return some !== undefined && 'seq' in some
}

/** The order of runs for commands that only read and may meet such a warehouse. */
export const recordedOrder = async (db: Dialect['db']): Promise<RawBuilder<unknown>> =>
  (await isNumbered(db)) ? bySeq : sql.ref('started_at')

/**
 * `mode` of the rows that record what events triggered, one per hour. They aren't runs of their own, so they don't
 * count as the last run.
 */
export const eventsMode = 'events'

/** Leaves out the rows about events. */
export const ofRuns = sql<SqlBool>`coalesce(${sql.ref('mode')}, '') <> ${sql.lit(eventsMode)}`

/**
 * A cursor's watermarks in the history of runs. Leaves out what may be the result of a wrong clock: a watermark was in
 * the past when its run began, and it is no later than `until`.
 */
export async function recordedWatermarks(
  warehouse: Reader,
  { tenantId, resource }: CursorKey,
  until: string,
): Promise<{
  /** The newest one of a planned walk. null if none is recorded. */
  readonly planned: string | null
  /** Whether events have rung the cursor. */
  readonly isRung: boolean
}> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors as c')
      .innerJoin('sync_runs as r', 'r.run_id', 'c.run_id')
      .select(['c.mode', (eb) => eb.fn.max<string | null>('c.watermark').as('watermark')])
      .where('c.tenant_id', '=', tenantId)
      .where('c.resource', '=', resource)
      .where((eb) =>
        eb.or([
          eb('c.mode', '=', eventsMode),
          eb.and([
            eb('c.status', '=', 'ok'),
            eb('c.watermark', '<=', until),
            eb('c.watermark', '<', eb.ref('r.started_at')),
          ]),
        ]),
      )
      .groupBy('c.mode')
      .execute(),
  )
  // A backfill has no watermark of its own, and reports the cursor's.
  const planned = rows.filter(({ mode }) => mode !== eventsMode && mode !== 'backfill')
  const newest = planned.flatMap(({ watermark }) => watermark ?? []).sort()
  return { planned: newest.at(-1) ?? null, isRung: rows.some(({ mode }) => mode === eventsMode) }
}

/** The newest moment that any run has recorded, in microseconds. New stamps must be later. */
export async function newestStamp(warehouse: Reader): Promise<bigint> {
  const row = await warehouse.read(async (db) => {
    const knowsStamps = await isNumbered(db)
    return db
      .selectFrom('sync_runs')
      .select((eb) => [
        eb.fn.max<string | null>('started_at').as('started'),
        eb.fn.max<string | null>('finished_at').as('finished'),
      ])
      .$if(knowsStamps, (query) =>
        query.select((eb) => eb.fn.max<string | null>('stamped_until').as('stamped')),
      )
      .executeTakeFirst()
  })
  const newest = [row?.started, row?.finished, row?.stamped]
    .flatMap((time) => time ?? [])
    .sort()
    .at(-1)
  return newest === undefined ? 0n : toMicros(newest)
}

/** The newest moments and the highest token that runs have recorded. */
export const highestOfRuns = (db: Dialect['db']) =>
  db
    .selectFrom('sync_runs')
    .select((eb) => [
      eb.fn.max<string | null>('started_at').as('started'),
      eb.fn.max<string | null>('finished_at').as('finished'),
      eb.fn.max<string | null>('stamped_until').as('stamped'),
      eb.fn.max<Int64 | null>('token').as('token'),
    ])
    .compile()

/** A run whose end will never be recorded: it has none, and no lease. Beside it, runs of other shards are at work. */
export const isOrphan = (db: Dialect['db']): Expression<SqlBool> =>
  sql<SqlBool>`${sql.ref('status')} = 'running' and ${sql.ref('run_id')} not in ${db
    .selectFrom('sync_lease')
    .select('owner')
    .where('owner', 'is not', null)}`

/**
 * The newest stamp of killed runs: their ends aren't recorded, but their rows carry stamps. undefined if there is no
 * such run.
 */
export async function newestOrphanStamp(warehouse: Reader): Promise<string | undefined> {
  const orphans = (db: Dialect['db']) => db.selectFrom('sync_runs').select('run_id').where(isOrphan(db))
  const some = await warehouse.read((db) => orphans(db).limit(1).execute())
  if (some.length === 0) return undefined
  const newest = await warehouse.read(async (db) => [
    await db
      .selectFrom('sync_requests')
      .select((eb) => eb.fn.max<string | null>('synced_at').as('at'))
      .where('run_id', 'in', orphans(db))
      .executeTakeFirst(),
    ...(await lastSuccesses(db).execute()),
  ])
  return newest
    .flatMap((row) => row?.at ?? [])
    .sort()
    .at(-1)
}

/** Returns one row if the end of the run is on record. */
export const hasEnded = (db: Dialect['db'], runId: string) =>
  db
    .selectFrom('sync_runs')
    .select('run_id')
    .where('run_id', '=', runId)
    .where('finished_at', 'is not', null)
    .compile()

/**
 * A killed run couldn't record its own end; the next holder of the lease knows that it has ended, and that its own stamps
 * begin after it. Returns these runs.
 */
export const endOrphans = (db: Dialect['db']) =>
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
  db: Dialect['db'],
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

export const endRun = (
  db: Dialect['db'],
  runId: string,
  row: Omit<Insertable<StateRows['sync_runs']>, 'run_id'>,
): CompiledQuery => db.updateTable('sync_runs').set(row).where('run_id', '=', runId).compile()

export const storeRunCursors = (
  db: Dialect['db'],
  rows: readonly Insertable<StateRows['sync_run_cursors']>[],
): CompiledQuery =>
  db
    .insertInto('sync_run_cursors')
    .values(rows)
    // The statement is repeated if the response to its commit was lost.
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'run_id', 'step']).doNothing())
    .compile()

/**
 * The last run of a mode that worked on a cursor, by `cursorName`, as a text that sorts by when runs were recorded. The
 * steps of a job have their own modes.
 */
export async function lastTurns(
  warehouse: Reader,
  mode: string,
  shard?: Shard,
): Promise<Map<string, string>> {
  const rows = await warehouse.read((db) => {
    const turns = db
      .selectFrom('sync_run_cursors as c')
      .innerJoin('sync_runs as r', 'r.run_id', 'c.run_id')
      .select(['c.tenant_id', 'c.resource'])
      .select((eb) => [
        eb.fn.max<Int64 | null>('r.seq').as('seq'),
        eb.fn.max<string | null>('r.started_at').as('at'),
      ])
      .where((eb) => eb(eb.fn.coalesce('c.mode', 'r.mode'), '=', mode))
      .where('c.requests', '>', 0)
      .groupBy(['c.tenant_id', 'c.resource'])
    return (shard ? turns.where(isOfShard(sql.ref('c.tenant_id'), shard)) : turns).execute()
  })
  return new Map(
    rows.map(({ tenant_id, resource, seq, at }) => [
      cursorName({ tenantId: tenant_id, resource }),
      // Runs of older versions have no number.
      `${String(seq ?? 0).padStart(15, '0')} ${at ?? ''}`,
    ]),
  )
}

/** When the walk began that first read the whole list, as far back as the history goes. undefined if none did. */
export async function firstLoadedAt(
  warehouse: Reader,
  { tenantId, resource }: CursorKey,
): Promise<string | undefined> {
  const first = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      .select((eb) => eb.fn.min<string | null>('started_at').as('at'))
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('mode', 'in', ['sync', 'full', 'reconcile'])
      .where('completeness', 'in', ['proven', 'repaired', 'listed'])
      .executeTakeFirst(),
  )
  return first?.at ?? undefined
}

/* What each run did with each cursor. No other file's statements read or write sync_run_cursors. */
import {
  type CompiledQuery,
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type SqlBool,
  sql,
} from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Shard } from '../../base/shard.js'
import { type StateRows, stateTables } from '../../model/state.js'
import type { Database, Db, Reader } from '../database.js'
import { type CursorKey, cursorColumns, cursorQuery, rowName } from './cursors.js'
import { added, deleteRun, eventsMode, type Runs, runIds } from './runs.js'
import { isOfShard } from './shardsql.js'
import { storedRow } from './storedrow.js'

/** What a run, or a step of a job, did with a cursor: its row, whose columns model/state.ts explains. */
export type RunCursor = Readonly<StateRows['sync_run_cursors']>

type Where = (eb: ExpressionBuilder<Database, 'sync_run_cursors'>) => Expression<SqlBool>

const runCursorOf = (row: RunCursor): RunCursor => storedRow(stateTables.sync_run_cursors, row)

/* Reading. */

/** What these runs did, in the order of cursors. null: with all of them. */
export const cursorsOfRuns = async (
  reader: Reader,
  runs: readonly string[],
  {
    tenants,
    resources,
  }: { readonly tenants: readonly Int64[] | null; readonly resources: readonly string[] | null },
): Promise<RunCursor[]> => {
  if (runs.length === 0) return []
  const rows = await reader.read((db) => {
    let query = db.selectFrom('sync_run_cursors').selectAll().where('run_id', 'in', runs)
    if (tenants) query = query.where('tenant_id', 'in', tenants)
    if (resources) query = query.where('resource', 'in', resources)
    return query.orderBy('tenant_id').orderBy('resource').orderBy('started_at').execute()
  })
  return rows.map(runCursorOf)
}

/** What runs did with one cursor, the newest first, at most this many. */
export const lastOfCursor = async (
  reader: Reader,
  key: CursorKey,
  most: number,
  where: Where,
): Promise<RunCursor[]> => {
  const rows = await reader.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      .selectAll()
      .where((eb) => eb.and(cursorColumns(key)))
      .where(where)
      .orderBy('started_at', 'desc')
      .limit(most)
      .execute(),
  )
  return rows.map(runCursorOf)
}

/** Whether a run's work on some cursor did not end well, as a part of another statement. */
export const isAnyNotOk = (db: Db, runId: string): Expression<SqlBool> =>
  sql<SqlBool>`exists ${db
    .selectFrom('sync_run_cursors as c')
    .select('c.run_id')
    .where('c.run_id', '=', runId)
    .where('c.status', '!=', 'ok')}`

/** The verdicts that these runs gave on lists that were read. */
export async function verdictsOf(db: Db, runs: Runs): Promise<ReadonlySet<string | null>> {
  const rows = await db
    .selectFrom('sync_run_cursors')
    .select('completeness')
    .distinct()
    .where('run_id', 'in', runs)
    .where('status', 'in', ['ok', 'failed'])
    .execute()
  return new Set(rows.map(({ completeness }) => completeness))
}

/** What these runs changed, by cursor; those without a change are left out. */
export async function changedBy(db: Db, runs: Runs) {
  const rows = await db
    .selectFrom('sync_run_cursors')
    .select(['tenant_id', 'resource'])
    .select((eb) => [
      eb.fn.sum<Int64 | null>('rows_upserted').as('upserted'),
      eb.fn.sum<Int64 | null>('rows_deleted').as('deleted'),
    ])
    .where('run_id', 'in', runs)
    .where(sql<boolean>`coalesce(rows_upserted, 0) + coalesce(rows_deleted, 0) > 0`)
    .groupBy(['tenant_id', 'resource'])
    .execute()
  return rows.map(({ upserted, deleted, ...list }) => ({
    ...list,
    rows_upserted: Number(upserted ?? 0),
    rows_deleted: Number(deleted ?? 0),
  }))
}

/** By resource: when work on one of its cursors first ended well. A query, as a part of another one. */
export const firstEnds = (db: Db) =>
  db
    .selectFrom('sync_run_cursors')
    .where('status', '=', 'ok')
    .groupBy('resource')
    .select('resource')
    .select((eb) => eb.fn.min<string | null>('finished_at').as('at'))

/** The lists whose last walk failed, or which the source didn't offer, with the end of that attempt. */
export const lastFailures = (reader: Reader, shard: Shard | undefined) =>
  reader.read((db) =>
    db
      .selectFrom(
        cursorQuery(db, ['status', 'reason', 'last_run_id'], {
          shard,
          where: (eb) => eb('status', 'in', ['failed', 'unavailable']),
        }).as('c'),
      )
      .innerJoin('sync_run_cursors as r', (join) =>
        join
          .onRef('r.run_id', '=', 'c.last_run_id')
          .onRef('r.tenant_id', '=', 'c.tenant_id')
          .onRef('r.resource', '=', 'c.resource'),
      )
      .groupBy(['c.tenant_id', 'c.resource', 'c.status', 'c.reason'])
      .select(['c.tenant_id', 'c.resource', 'c.status', 'c.reason'])
      .select((eb) => eb.fn.max<string | null>('r.finished_at').as('at'))
      .execute(),
  )

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
      .innerJoin(runIds(db, {}).select('started_at').as('r'), 'r.run_id', 'c.run_id')
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

/**
 * The last run of a mode that worked on a cursor, by `cursorName`, as a text that sorts by when runs were recorded. The
 * steps of a job have their own modes.
 */
export async function lastTurns(
  warehouse: Reader,
  mode: string,
  shard?: Shard,
): Promise<Map<string, string>> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors as c')
      .innerJoin(runIds(db, {}).select(['seq', 'started_at', 'mode']).as('r'), 'r.run_id', 'c.run_id')
      .select(['c.tenant_id', 'c.resource'])
      .select((eb) => [
        eb.fn.max<Int64 | null>('r.seq').as('seq'),
        eb.fn.max<string | null>('r.started_at').as('at'),
      ])
      .where((eb) => eb(eb.fn.coalesce('c.mode', 'r.mode'), '=', mode))
      .where('c.requests', '>', 0)
      .where(isOfShard(sql.ref('c.tenant_id'), shard))
      .groupBy(['c.tenant_id', 'c.resource'])
      .execute(),
  )
  // Runs of older versions have no number.
  return new Map(
    rows.map((row) => [rowName(row), `${String(row.seq ?? 0).padStart(15, '0')} ${row.at ?? ''}`]),
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

/* Writing. */

export const storeRunCursors = (
  db: Db,
  rows: readonly Insertable<StateRows['sync_run_cursors']>[],
): CompiledQuery =>
  db
    .insertInto('sync_run_cursors')
    .values(rows)
    // The statement is repeated if the response to its commit was lost.
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'run_id', 'step']).doNothing())
    .compile()

/** Adds to what an hour of rings did with a cursor, whose last verdict stays. */
export const addRing = (
  db: Db,
  row: Insertable<StateRows['sync_run_cursors']>,
  counts: Readonly<Record<string, number>>,
): CompiledQuery => {
  const { started_at: _, ...last } = row
  return db
    .insertInto('sync_run_cursors')
    .values({ ...row, ...counts })
    .onConflict((c) =>
      c
        .columns(['tenant_id', 'resource', 'run_id', 'step'])
        .doUpdateSet({ ...last, ...added('sync_run_cursors', counts) }),
    )
    .compile()
}

/** Removes a run and everything it did, except for its requests. */
export const removeRun = (db: Db, runId: string): CompiledQuery[] => [
  db.deleteFrom('sync_run_cursors').where('run_id', '=', runId).compile(),
  deleteRun(db, runId),
]

/** Removes the cursors of a run that changed nothing, if one of these later runs also has an idle row for them. */
export function thinRun(db: Db, runId: string, later: readonly string[]): CompiledQuery[] {
  const own = db.selectFrom('sync_run_cursors as c').select('c.run_id').where('c.run_id', '=', runId)
  const idle = { 'c.status': 'ok', 'c.rows_upserted': 0, 'c.rows_deleted': 0 } as const
  return [
    db
      .deleteFrom('sync_run_cursors as o')
      .where((eb) =>
        eb.and({ 'o.run_id': runId, 'o.status': 'ok', 'o.rows_upserted': 0, 'o.rows_deleted': 0 }),
      )
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('sync_run_cursors as c')
            .select('c.run_id')
            .where('c.run_id', 'in', later)
            .whereRef('c.tenant_id', '=', 'o.tenant_id')
            .whereRef('c.resource', '=', 'o.resource')
            .where((eb) => eb.and(idle)),
        ),
      )
      .compile(),
    deleteRun(db, runId, (eb) => eb.and([eb('status', '=', 'ok'), eb.not(eb.exists(own))])),
  ]
}

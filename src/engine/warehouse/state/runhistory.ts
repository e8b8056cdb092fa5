/*
 * The history of runs: old rows are removed and idle runs thinned out. Used by run/prunehistory.ts, in the run that
 * holds the lease.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Db } from '../database.js'
import type { Reader } from './cursors.js'
import { storeMeta } from './meta.js'
import { bySeq, ofRuns } from './runs.js'

export const readMarks = (warehouse: Reader): Promise<Map<string, string | null>> =>
  warehouse.read(async (db) => {
    const names: ('history_thinned_to' | 'history_pruned_on')[] = ['history_thinned_to', 'history_pruned_on']
    const rows = await db.selectFrom('sync_meta').selectAll().where('name', 'in', names).execute()
    return new Map(rows.map(({ name, value }) => [name, value]))
  })

export const setMark = (
  db: Db,
  name: 'history_thinned_to' | 'history_pruned_on',
  value: string,
): CompiledQuery => storeMeta(db, name, value)

/** When the oldest run on record began. Nothing earlier is recorded. */
export const knownSince = (warehouse: Reader): Promise<string | null> =>
  warehouse.read(async (db) => {
    const oldest = db.selectFrom('sync_runs').select((eb) => eb.fn.min<string | null>('started_at').as('at'))
    return (await oldest.executeTakeFirst())?.at ?? null
  })

/** When the run before the current one began. null if there isn't one. */
export const startBeforeLast = (warehouse: Reader): Promise<string | null> =>
  warehouse.read(async (db) => {
    const runs = db.selectFrom('sync_runs').select('started_at').where(ofRuns).orderBy(bySeq, 'desc')
    const [, before] = await runs.orderBy('started_at', 'desc').limit(2).execute()
    return before?.started_at ?? null
  })

/** The runs that began in a time range, oldest first. */
export const runsBetween = (
  warehouse: Reader,
  from: string,
  to: string,
  most: number,
): Promise<{ readonly runId: string; readonly startedAt: string }[]> =>
  warehouse.read(async (db) => {
    const rows = await db
      .selectFrom('sync_runs')
      .select(['run_id', 'started_at'])
      .where('started_at', '>=', from)
      .where('started_at', '<', to)
      .orderBy('started_at')
      .limit(most)
      .execute()
    return rows.map(({ run_id, started_at }) => ({ runId: run_id, startedAt: started_at ?? from }))
  })

/** Removes a run and everything it did, except for its requests. */
export const removeRun = (db: Db, runId: string): CompiledQuery[] => [
  db.deleteFrom('sync_run_cursors').where('run_id', '=', runId).compile(),
  db.deleteFrom('sync_runs').where('run_id', '=', runId).compile(),
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
    db
      .deleteFrom('sync_runs')
      .where('run_id', '=', runId)
      .where('status', '=', 'ok')
      .where((eb) => eb.not(eb.exists(own)))
      .compile(),
  ]
}

/** Removes a tenant's oldest requests before a moment, at most `most` of them. */
export function removeRequests(db: Db, tenantId: Int64, before: string, most: number): CompiledQuery {
  const old = db
    .selectFrom('sync_requests as r')
    .select('r.synced_at')
    .where('r.tenant_id', '=', tenantId)
    .where('r.synced_at', '<', before)
    .orderBy('r.synced_at')
    .limit(most)
  return db
    .deleteFrom('sync_requests')
    .where('tenant_id', '=', tenantId)
    .where('synced_at', 'in', old)
    .compile()
}

/*
 * The requests that wrote rows, one row each, as far as they are kept (run/prunehistory.ts): rows refer to theirs by
 * `_synced_at`. No other file's statements read or write sync_requests.
 */
import type { CompiledQuery, Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { latest, toMicros } from '../../base/timestamp.js'
import type { Database, Db, Reader } from '../database.js'
import type { Batch, Origin } from '../store/versionbatch.js'
import { type CursorKey, cursorColumns, lastSuccesses } from './cursors.js'
import { isOrphan, type Runs, runIds } from './runs.js'

/* Reading. */

/** The requests of these runs. */
export const requestsOf = (db: Db, runs: Runs) => db.selectFrom('sync_requests').where('run_id', 'in', runs)

/** The first request of which that holds. */
export const firstRequest = (
  reader: Reader,
  where: (eb: ExpressionBuilder<Database, 'sync_requests'>) => Expression<SqlBool>,
) =>
  reader.read((db) =>
    db.selectFrom('sync_requests').selectAll().where(where).orderBy('synced_at').executeTakeFirst(),
  )

/** The stamps of a cursor's requests but for those that fetched the most rows. */
export const pettyRequests = async (reader: Reader, key: CursorKey, but: number): Promise<string[]> => {
  const rows = await reader.read((db) =>
    db
      .selectFrom('sync_requests')
      .select('synced_at')
      .where((eb) => eb.and(cursorColumns(key)))
      .orderBy('rows_written', 'desc')
      .orderBy('synced_at', 'desc')
      .offset(but)
      .limit(1_000_000)
      .execute(),
  )
  return rows.map(({ synced_at }) => synced_at)
}

/**
 * The newest stamp of killed runs, in microseconds: their ends aren't recorded, but their rows carry stamps. 0 if there
 * is no such run.
 */
export async function newestOrphanStamp(reader: Reader): Promise<bigint> {
  const orphans = (db: Db) => runIds(db, { where: () => isOrphan(db) })
  const some = await reader.read((db) => orphans(db).limit(1).execute())
  if (some.length === 0) return 0n
  const newest = await reader.read(async (db) => [
    ...(await requestsOf(db, orphans(db))
      .select((eb) => eb.fn.max<string | null>('synced_at').as('at'))
      .execute()),
    ...(await lastSuccesses(db).execute()),
  ])
  return toMicros(latest(newest.map(({ at }) => at)))
}

/* Writing. */

/**
 * The request of a batch that wrote anything: about 250 bytes for up to a hundred records. The rows from it carry its
 * stamp.
 */
export function storeRequest(
  db: Db,
  { tenantId, resource, syncedAt, page: { records } }: Batch,
  { runId, way, page, requestId }: Origin,
  written: number,
): CompiledQuery {
  const times = records.map(({ updatedAt }) => updatedAt).sort()
  return db
    .insertInto('sync_requests')
    .values({
      tenant_id: tenantId,
      synced_at: syncedAt,
      resource,
      run_id: runId,
      way,
      page,
      request_id: requestId,
      rows_written: written,
      oldest: times[0] ?? null,
      newest: times.at(-1) ?? null,
    })
    .onConflict((c) => c.columns(['tenant_id', 'synced_at']).doNothing())
    .compile()
}

const requestsAt = (db: Db, tenantId: Int64) =>
  db.deleteFrom('sync_requests').where('tenant_id', '=', tenantId)

export const removeRequests = (db: Db, tenantId: Int64, stamps: readonly string[]): CompiledQuery =>
  requestsAt(db, tenantId).where('synced_at', 'in', stamps).compile()

/** Removes a tenant's oldest requests before a moment, at most `most` of them. */
export const removeOldRequests = (db: Db, tenantId: Int64, before: string, most: number): CompiledQuery => {
  const old = db
    .selectFrom('sync_requests as r')
    .select('r.synced_at')
    .where('r.tenant_id', '=', tenantId)
    .where('r.synced_at', '<', before)
    .orderBy('r.synced_at')
    .limit(most)
  return requestsAt(db, tenantId).where('synced_at', 'in', old).compile()
}

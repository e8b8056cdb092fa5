import type { CompiledQuery } from 'kysely'
import type { Db } from './database.js'
import type { Batch, Origin } from './versionbatch.js'

/**
 * The statement that records the request of a batch: one row per request that wrote anything, about 250 bytes for up to
 * a hundred records. The rows from that request carry its stamp.
 */
export function requestStatement(
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

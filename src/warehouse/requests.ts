import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../schema/resource.js'
import type { Flattened } from '../model/flatten/batch.js'
import type { Dialect } from './dialect.js'

/** How a batch came: what `why` tells of the rows that it brought. */
export interface Origin {
  readonly runId: string | null
  readonly way: 'walk' | 'backfill' | 'reconcile' | 'webhook' | 'replay'
  /** Page of the list; null for a record that was asked for by its id. */
  readonly page: number | null
  readonly requestId: string | null
}

interface BroughtBatch {
  readonly tenantId: Int64
  readonly resource: string
  readonly syncedAt: string
  readonly flattened: Flattened
}

/**
 * One row a request that wrote anything, for all the rows that it brought: they carry its stamp. That is some 250 bytes
 * for up to a hundred records with all that belongs to them.
 */
export function requestStatement(
  db: Dialect['db'],
  { tenantId, resource, syncedAt, flattened: { records } }: BroughtBatch,
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

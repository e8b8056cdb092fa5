/*
 * Which request and which run brought a row, as far as sync_requests and sync_run_cursors still tell. Used by why/work.ts.
 */

import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** A version of a record that was seen replaced or deleted. */
export interface EndedVersion {
  readonly valid_from: string
  readonly seen_from: string
  readonly seen_to: string
  readonly ended_by: string
}

const mostVersions = 20

/** The last versions of a record that have ended, the newest first; none where none are kept. */
export async function endedVersions(
  warehouse: Warehouse,
  { history }: ResourceModel,
  tenantId: Int64,
  id: Int64 | null,
): Promise<EndedVersion[]> {
  if (!history || id === null || !(await warehouse.has(history.name))) return []
  return warehouse.read((db) =>
    db
      .selectFrom(rootTable(history))
      .select([
        sql<string>`_valid_from`.as('valid_from'),
        sql<string>`_seen_from`.as('seen_from'),
        sql<string>`_seen_to`.as('seen_to'),
        sql<string>`_ended_by`.as('ended_by'),
      ])
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id)
      .orderBy(sql`_seen_from`, 'desc')
      .limit(mostVersions)
      .execute(),
  )
}

/** The request that brought a row, as far as it is still known. */
export interface Provenance {
  /**
   * `exact`: the row carries the stamp of this request. `likely`: later requests have shown the same version again; of
   * the known requests this is the earliest whose page must have held the version. `run`: only the run is known.
   * `unknown`: neither is.
   */
  readonly certainty: 'exact' | 'likely' | 'run' | 'unknown'
  readonly run_id: string | null
  /** Mode of the run: `sync`, `full`, `backfill`, `reconcile`. */
  readonly mode: string | null
  readonly way: string | null
  readonly at: string | null
  readonly page: Int64 | null
  readonly request_id: string | null
  /** Time of the last request that showed the row as it is, or found it gone. */
  readonly confirmed_at: string
  readonly confirmed_by: string | null
}

/** A run that wrote rows of the cursor before. */
export interface Earlier {
  readonly run_id: string
  /** Which step of a job, from 1; 1 elsewhere. */
  readonly step: Int64
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly rows_upserted: Int64 | null
  readonly rows_deleted: Int64 | null
}

interface Cursor {
  readonly tenantId: Int64
  readonly resource: string
}

const mostEarlier = 5

const requests = (warehouse: Warehouse, tenantId: Int64) =>
  warehouse.db.selectFrom('sync_requests').selectAll().where('tenant_id', '=', tenantId)

async function runAt(
  warehouse: Warehouse,
  { tenantId, resource }: Cursor,
  at: string,
): Promise<string | null> {
  const row = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      .select('run_id')
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('started_at', '<=', at)
      .where('finished_at', '>=', at)
      .orderBy('started_at', 'desc')
      .executeTakeFirst(),
  )
  return row?.run_id ?? null
}

/** The row of a cursor in a run: of the steps of a job, the last one that had begun by then. */
const turnAt = (warehouse: Warehouse, { tenantId, resource }: Cursor, runId: string, at: string) =>
  warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      // All columns, by no name: a warehouse of an older version has fewer.
      .selectAll()
      .where((eb) => eb.and({ tenant_id: tenantId, resource, run_id: runId }))
      .where('started_at', '<=', at)
      .orderBy('started_at', 'desc')
      .executeTakeFirst(),
  )

/** What a run did there and then: of a job, what its step did. */
async function modeOf(
  warehouse: Warehouse,
  cursor: Cursor,
  runId: string | null,
  at: string,
): Promise<string | null> {
  if (runId === null) return null
  const turn = await turnAt(warehouse, cursor, runId, at)
  if (turn?.mode) return turn.mode
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_runs').select('mode').where('run_id', '=', runId).executeTakeFirst(),
  )
  return row?.mode ?? null
}

/**
 * A request that shows a version again moves the stamp of the row and brings no new version, so that the stamp no
 * longer names the request that brought the row. Lists are in order of `updated_at`: the first request whose page
 * reaches from before the version's time to after it must have shown the version.
 */
async function likely(warehouse: Warehouse, { tenantId, resource }: Cursor, version: string, until: string) {
  return warehouse.read(() =>
    requests(warehouse, tenantId)
      .where('resource', '=', resource)
      .where('oldest', '<=', version)
      .where('newest', '>=', version)
      .where('synced_at', '<=', until)
      .orderBy('synced_at')
      .executeTakeFirst(),
  )
}

export async function whoBrought(
  warehouse: Warehouse,
  cursor: Cursor,
  row: { readonly syncedAt: string; readonly version: string | null; readonly deleted: boolean },
): Promise<Provenance> {
  const { syncedAt, version, deleted } = row
  const exact = await warehouse.read(() =>
    requests(warehouse, cursor.tenantId).where('synced_at', '=', syncedAt).executeTakeFirst(),
  )
  const found = exact ?? (version === null ? undefined : await likely(warehouse, cursor, version, syncedAt))
  const confirmedBy = exact?.run_id ?? (await runAt(warehouse, cursor, syncedAt))
  const runId = found?.run_id ?? (deleted ? null : confirmedBy)
  return {
    certainty: exact ? 'exact' : found ? 'likely' : runId === null ? 'unknown' : 'run',
    run_id: runId,
    mode: await modeOf(warehouse, cursor, runId, found?.synced_at ?? syncedAt),
    way: found?.way ?? null,
    at: found?.synced_at ?? null,
    page: found?.page ?? null,
    request_id: found?.request_id ?? null,
    confirmed_at: syncedAt,
    confirmed_by: confirmedBy,
  }
}

/** The last runs before a moment that wrote rows of the cursor, newest first. */
export async function earlierRuns(
  warehouse: Warehouse,
  { tenantId, resource }: Cursor,
  before: string,
): Promise<Earlier[]> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('finished_at', '<', before)
      .where((eb) => eb.or([eb('rows_upserted', '>', 0), eb('rows_deleted', '>', 0)]))
      .orderBy('started_at', 'desc')
      .limit(mostEarlier)
      .execute(),
  )
  return rows.map(({ run_id, step, started_at, finished_at, rows_upserted, rows_deleted }) => ({
    ...{ run_id, step: step ?? 1, started_at, finished_at },
    ...{ rows_upserted, rows_deleted },
  }))
}

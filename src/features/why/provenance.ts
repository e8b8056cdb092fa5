/*
 * Which request and which run wrote a row, as far as sync_requests and sync_run_cursors still show it. Used by
 * why/work.ts.
 */

import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { type CursorKey, cursorColumns } from '../../engine/warehouse/state/cursors.js'
import { firstRequest } from '../../engine/warehouse/state/requests.js'
import { lastOfCursor } from '../../engine/warehouse/state/runcursors.js'
import { lastRecorded } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** A version of a record that was found replaced or deleted. */
export interface EndedVersion {
  readonly valid_from: string
  readonly seen_from: string
  readonly seen_to: string
  readonly ended_by: string
}

const mostVersions = 20

/** The last ended versions of a record, newest first; empty if none are kept. */
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

/** The request that wrote a row, as far as it is still known. */
export interface Provenance {
  /**
   * `exact`: the row has the stamp of this request. `likely`: later requests have shown the same version again; this is
   * the earliest known request whose page must have contained the version. `run`: only the run is known. `unknown`:
   * neither is known.
   */
  readonly certainty: 'exact' | 'likely' | 'run' | 'unknown'
  readonly run_id: string | null
  /** The run's mode: `sync`, `full`, `backfill`, `reconcile`. */
  readonly mode: string | null
  readonly way: string | null
  readonly at: string | null
  readonly page: Int64 | null
  readonly request_id: string | null
  /** Time of the last request that showed the row as it is, or found it gone. */
  readonly confirmed_at: string
  readonly confirmed_by: string | null
}

/** An earlier run that wrote rows of the cursor. */
export interface Earlier {
  readonly run_id: string
  /** Which step of a job, from 1; otherwise 1. */
  readonly step: Int64
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly rows_upserted: Int64 | null
  readonly rows_deleted: Int64 | null
}

const mostEarlier = 5

async function runAt(warehouse: Warehouse, cursor: CursorKey, at: string): Promise<string | null> {
  const [turn] = await lastOfCursor(warehouse, cursor, 1, (eb) =>
    eb.and([eb('started_at', '<=', at), eb('finished_at', '>=', at)]),
  )
  return turn?.run_id ?? null
}

/** What a run did at that point: for a job, what its step did. */
async function modeOf(
  warehouse: Warehouse,
  cursor: CursorKey,
  runId: string | null,
  at: string,
): Promise<string | null> {
  if (runId === null) return null
  // For a job, that of the last step that had started by then.
  const [turn] = await lastOfCursor(warehouse, cursor, 1, (eb) =>
    eb.and([eb('run_id', '=', runId), eb('started_at', '<=', at)]),
  )
  if (turn?.mode) return turn.mode
  const run = await lastRecorded(warehouse, { where: (eb) => eb('run_id', '=', runId) })
  return run?.mode ?? null
}

/**
 * A request that shows a version again updates the row's stamp without a new version, so the stamp no longer identifies
 * the request that wrote the row. Lists are ordered by `updated_at`: the first request whose page reaches from before
 * the version's time to after it must have shown the version.
 */
const likely = (warehouse: Warehouse, cursor: CursorKey, version: string, until: string) =>
  firstRequest(warehouse, (eb) =>
    eb.and([
      eb.and(cursorColumns(cursor)),
      eb('oldest', '<=', version),
      eb('newest', '>=', version),
      eb('synced_at', '<=', until),
    ]),
  )

export async function whoBrought(
  warehouse: Warehouse,
  cursor: CursorKey,
  row: { readonly syncedAt: string; readonly version: string | null; readonly deleted: boolean },
): Promise<Provenance> {
  const { syncedAt, version, deleted } = row
  const exact = await firstRequest(warehouse, (eb) =>
    eb.and({ tenant_id: cursor.tenantId, synced_at: syncedAt }),
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
  cursor: CursorKey,
  before: string,
): Promise<Earlier[]> {
  const rows = await lastOfCursor(warehouse, cursor, mostEarlier, (eb) =>
    eb.and([
      eb('finished_at', '<', before),
      eb.or([eb('rows_upserted', '>', 0), eb('rows_deleted', '>', 0)]),
    ]),
  )
  return rows.map(({ run_id, step, started_at, finished_at, rows_upserted, rows_deleted }) => ({
    run_id,
    step,
    started_at,
    finished_at,
    rows_upserted,
    rows_deleted,
  }))
}

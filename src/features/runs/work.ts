/*
 * `runs`: what ran, when, what it fetched, and what failed, from sync_runs and sync_run_cursors. Only queries the
 * warehouse.
 */

import type { Int64 } from '../../../schema/resource.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { readHolders, type StatusHolder } from '../../engine/run/lastrun.js'
import { cursorsOfRuns, type RunCursor } from '../../engine/warehouse/state/runcursors.js'
import { type RunRow, runsBack } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

export interface PastRun {
  readonly run_id: string
  readonly job: string | null
  readonly mode: string | null
  /** The part of the tenants that it worked on, such as `3/8`; null: all. */
  readonly shard: string | null
  /** `running`, `ok`, `partial`, `failed` or `interrupted`. */
  readonly status: string | null
  readonly reason: string | null
  readonly started_at: string | null
  readonly finished_at: string | null
  /** Milliseconds; null while it runs, and if its end wasn't recorded. */
  readonly took_ms: number | null
  readonly requests: Int64 | null
  readonly records: number
  /** Records that were new or different in the warehouse; null if no cursor has this count. */
  readonly records_changed: number | null
  readonly rows_upserted: Int64 | null
  readonly rows_deleted: Int64 | null
  readonly quarantined: Int64 | null
  readonly rate_limited: Int64 | null
  readonly retries: Int64 | null
  readonly error: string | null
  /** How many cursors had each outcome, among those that the history still has. */
  readonly cursors: Readonly<Record<string, number>>
  readonly failures: readonly {
    readonly tenant_id: Int64
    readonly resource: string
    /** Which step of a job, from 1; otherwise 1. */
    readonly step: Int64
    readonly status: string | null
    readonly reason: string | null
    readonly error: string | null
  }[]
}

const isFailure = ({ status }: Pick<RunCursor, 'status'>): boolean =>
  status === 'failed' || status === 'skipped'

/** For a selection of cursors, only their own failures count, and what ended the whole run. */
const isBad = ({ status, failures }: PastRun, isChosen: boolean): boolean =>
  failures.length > 0 ||
  status === 'interrupted' ||
  (!isChosen && (status === 'partial' || status === 'failed'))

function changedOf(cursors: readonly RunCursor[]): number | null {
  const known = cursors.flatMap(({ records_changed: changed }) => (changed === null ? [] : [Number(changed)]))
  return known.length === 0 ? null : known.reduce((sum, changed) => sum + changed, 0)
}

function pastRun(row: RunRow, cursors: readonly RunCursor[], holders: readonly StatusHolder[]): PastRun {
  const { run_id, job, mode, started_at, finished_at, error } = row
  // A killed run could not record its end: it is only running while it holds the lease.
  const isHeld = holders.some((holder) => holder.run_id === run_id)
  const status = row.status === 'running' && !isHeld ? 'interrupted' : row.status
  const counts: Record<string, number> = {}
  for (const cursor of cursors) counts[cursor.status ?? ''] = (counts[cursor.status ?? ''] ?? 0) + 1
  return {
    run_id,
    job,
    mode,
    shard: row.shard,
    status,
    reason: row.reason,
    started_at,
    finished_at,
    took_ms:
      started_at && finished_at
        ? // Negative if the clock was set back meanwhile.
          Math.max(0, Number((toMicros(finished_at) - toMicros(started_at)) / 1000n))
        : null,
    requests: row.requests,
    records: cursors.reduce((sum, { records }) => sum + Number(records ?? 0), 0),
    records_changed: changedOf(cursors),
    rows_upserted: row.rows_upserted,
    rows_deleted: row.rows_deleted,
    quarantined: row.quarantined,
    rate_limited: row.rate_limited,
    retries: row.retries,
    error,
    cursors: counts,
    failures: cursors
      .filter(isFailure)
      .map(({ tenant_id, resource, step, status: of, reason, error: why }) => ({
        tenant_id,
        resource,
        step,
        status: of,
        reason,
        error: why,
      })),
  }
}

/** The most recently recorded runs come first. */
export async function readRuns(question: {
  readonly warehouse: Warehouse
  /** At most this many, the newest. */
  readonly last: number
  /** Only runs in which something failed. */
  readonly onlyFailed: boolean
  /** Also what events rang, one row per hour. */
  readonly withEvents?: boolean
  /** Only runs that worked on one of these; null for all. */
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
  /** Only runs that started at this instant or later; canonical. */
  readonly since?: string | undefined
  readonly nowMicros: bigint
}): Promise<PastRun[]> {
  const { warehouse, last, onlyFailed, withEvents = false, tenants, resources, since, nowMicros } = question
  const holders = await warehouse.read((db) => readHolders(db, nowMicros))
  const found: PastRun[] = []
  for await (const rows of runsBack(warehouse, { since, withEvents })) {
    const ids = rows.map(({ run_id }) => run_id)
    const cursors = await cursorsOfRuns(warehouse, ids, { tenants, resources })
    const isChosen = tenants !== null || resources !== null
    for (const row of rows) {
      const of = cursors.filter(({ run_id }) => run_id === row.run_id)
      const run = pastRun(row, of, holders)
      if ((!isChosen || of.length > 0) && (!onlyFailed || isBad(run, isChosen))) found.push(run)
    }
    if (found.length >= last) break
  }
  return found.slice(0, last)
}

/*
 * What a run records of itself: its beginning and end in sync_runs, its cursors in sync_run_cursors, and failures in
 * sync_cursors. run/run.ts calls it.
 */
import { hostname } from 'node:os'
import { describeError } from '../../errors.js'
import { toMicros } from '../../timestamp.js'
import { moveCursor } from '../../warehouse/cursors.js'
import { forgetKnownFields } from '../../warehouse/drift.js'
import { endOrphans, endRun, newestOrphanStamp, startRun, storeRunCursors } from '../../warehouse/runs.js'
import { type Dependencies, keyOf, type RunContext, stateOf, type WriterLease } from './context.js'
import type { CursorEnd } from './cursor.js'
import type { Mode, RunReport, RunRequest } from './report.js'

/** Cursors in one statement. */
const cursorsAtOnce = 200

/**
 * Records that the run has begun. Killed runs are recorded as interrupted, and the stamps of this run begin after
 * theirs, even if the clock was set back since. Unknown fields that have columns by now are known, and no drift.
 */
export async function recordStart(
  {
    warehouse,
    model,
    stamps,
    runId,
    fence,
  }: Pick<Dependencies, 'warehouse' | 'model' | 'stamps'> & WriterLease,
  { job, mode }: Pick<RunRequest, 'job' | 'mode'>,
  startedAt: string,
): Promise<void> {
  const newest = await newestOrphanStamp(warehouse)
  if (newest !== undefined) stamps.raise(toMicros(newest))
  const row = {
    run_id: runId,
    job,
    mode,
    status: 'running',
    started_at: startedAt,
    host: hostname(),
    pid: process.pid,
  }
  const known = model.list.flatMap(({ name, promoted }) => {
    const names = Object.keys(promoted)
    return names.length > 0 ? [forgetKnownFields(warehouse.db, name, names)] : []
  })
  await warehouse.write([endOrphans(warehouse.db), startRun(warehouse.db, row), ...known], fence)
}

/**
 * Records what failed in the cursors themselves; a success was recorded in the transaction of its last rows. A backfill
 * moves no cursor, and so says nothing of how fresh one is. What is recorded of a revoked tenant already is not written
 * again by each run.
 */
export async function recordFailures(context: RunContext, ends: readonly CursorEnd[]): Promise<void> {
  const { warehouse, runId, fence } = context
  const changes = ends.flatMap(({ task, report, interrupted }) => {
    if (report.status === 'ok' || interrupted) return []
    const before = stateOf(context, task)
    if (report.reason === 'revoked' && before?.reason === 'revoked') return []
    const change = {
      status: report.status,
      last_error: report.error,
      reason: report.reason,
      last_run_id: runId,
      ...(report.status === 'failed' && { completeness: report.completeness }),
    }
    return [moveCursor(warehouse.db, keyOf(task), change)]
  })
  for (let i = 0; i < changes.length; i += cursorsAtOnce)
    await warehouse.write(changes.slice(i, i + cursorsAtOnce), fence)
}

/** `mode`: what the step did that the cursors belong to. */
export async function recordCursors(
  { warehouse, runId, fence }: Pick<Dependencies, 'warehouse'> & WriterLease,
  ends: readonly CursorEnd[],
  mode: Mode,
): Promise<void> {
  const rows = ends.map(({ report, startedAt, finishedAt, quarantined, books }) => {
    const { reconciled: _reconciled, ...columns } = report
    return {
      ...columns,
      mode,
      run_id: runId,
      started_at: startedAt,
      finished_at: finishedAt,
      quarantined,
      books: books === null ? null : JSON.stringify(books),
    }
  })
  for (let i = 0; i < rows.length; i += cursorsAtOnce)
    await warehouse.write([storeRunCursors(warehouse.db, rows.slice(i, i + cursorsAtOnce))], fence)
}

/** Records the end of the run. Without the fence: a run that has lost its lease records its end all the same. */
export async function recordEnd(
  { warehouse, runId }: Pick<Dependencies, 'warehouse'> & WriterLease,
  report: RunReport,
  { status, error }: { readonly status: string; readonly error: unknown },
): Promise<void> {
  const { finished_at, requests, rate_limited, retries, rows_upserted, rows_deleted, quarantined } = report
  const counts = { requests, rate_limited, retries, rows_upserted, rows_deleted, quarantined }
  const row = {
    status,
    finished_at,
    reason: report.reason,
    ...counts,
    error: error === null ? null : describeError(error),
  }
  await warehouse.write([endRun(warehouse.db, runId, row)])
}

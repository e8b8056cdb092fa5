/*
 * Records what events rang. Each hour has one row in sync_runs, to which every process that rings adds.
 * sync_run_cursors has a row for each cursor with its last verdict. It isn't a run of its own: nobody starts it, and
 * nobody waits for its end.
 */
import { sql } from 'kysely'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { CursorEnd } from '../../engine/run/cursor.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import { addRing, isAnyNotOk } from '../../engine/warehouse/state/runcursors.js'
import { added, eventsMode, startRun, updateRun } from '../../engine/warehouse/state/runs.js'

/** Columns to which each walk adds. */
const sums = (end: CursorEnd) => ({
  requests: end.report.requests,
  rows_upserted: end.report.rows_upserted,
  rows_deleted: end.report.rows_deleted,
  quarantined: end.quarantined,
})

/** Records the outcome of a cursor that was rung. */
export async function recordRing(
  { warehouse, stamps }: Pick<WritingRun, 'warehouse' | 'stamps'>,
  runId: string,
  end: CursorEnd,
): Promise<void> {
  const { db } = warehouse
  const { reconciled: _, requests, rows_upserted, rows_deleted, ...report } = end.report
  const { startedAt: started_at, finishedAt: finished_at } = end
  const counts = sums(end)
  const records = { records: report.records, records_changed: report.records_changed }
  const books = end.books === null ? null : JSON.stringify(end.books)
  const last = { ...report, mode: eventsMode, finished_at, books }
  const run = { run_id: runId, job: null, mode: eventsMode, status: 'ok', started_at, finished_at }
  const stamped_until = fromMicros(stamps.next())
  await warehouse.write([
    startRun(db, run),
    updateRun(db, runId, { finished_at, stamped_until, ...added('sync_runs', counts) }),
    addRing(db, { ...last, run_id: runId, started_at }, { ...counts, ...records }),
    updateRun(db, runId, {
      status: sql<string>`case when ${isAnyNotOk(db, runId)} then 'partial' else 'ok' end`,
    }),
  ])
}

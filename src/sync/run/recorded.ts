/*
 * A run on record: its row in sync_runs is there from its beginning, and says how it ended, whichever way that was. Used
 * by run.ts, and by job.ts, whose steps share one row.
 */
import { type Dependencies, now, type WriterLease } from './context.js'
import { endingOf } from './ending.js'
import { pruneHistory } from './prune.js'
import { recordEnd, recordStart } from './records.js'
import type { RunReport, RunRequest } from './report.js'
import { reasonOf, reportOf, rowsIn } from './runend.js'

/** A run that is on record and has not ended. */
export interface RecordedRun {
  readonly startedAt: string
  /** Values, items and records that went to quarantine so far. */
  readonly counted: { quarantined: number }
  /** What came of the steps that have ended. */
  readonly done: RunReport[]
}

/** Does the work of a run under its lease, and records its beginning and its end. */
export async function onRecord(
  deps: Dependencies,
  lease: WriterLease,
  purpose: Pick<RunRequest, 'job' | 'mode'>,
  work: (run: RecordedRun) => Promise<RunReport>,
): Promise<RunReport> {
  const run: RecordedRun = { startedAt: now(deps), counted: { quarantined: 0 }, done: [] }
  const context = { ...deps, ...lease }
  try {
    await recordStart(context, purpose, run.startedAt)
    const report = await work(run)
    const status = report.reason === 'interrupted' ? 'interrupted' : report.status
    await recordEnd(context, report, { status, error: null })
    await pruneHistory(context)
    return report
  } catch (error) {
    const reason = endingOf(deps.signal) ?? reasonOf(error)
    const { quarantined } = run.counted
    const nothing = reportOf(context, purpose, run.startedAt, { ends: [], reason, quarantined })
    const report = {
      ...nothing,
      rows_upserted: rowsIn(run.done, 'rows_upserted'),
      rows_deleted: rowsIn(run.done, 'rows_deleted'),
    }
    const status = reason === 'interrupted' ? 'interrupted' : 'failed'
    await recordEnd(context, report, { status, error }).catch(() => {})
    throw error
  }
}

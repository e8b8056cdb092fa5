/*
 * A run on record: its row in sync_runs is there from its beginning, and says how it ended, whichever way that was. Used
 * by run.ts, and by steps.ts, whose steps share one row.
 */
import { Stop } from '../base/errors.js'
import { inSpan } from '../base/trace.js'
import { removeRun } from '../warehouse/runhistory.js'
import { endingOf } from './ending.js'
import { pruneHistory } from './prunehistory.js'
import { recordEnd, recordStart } from './records.js'
import { type Dependencies, now, type WriterLease } from './runcontext.js'
import { reasonOf, reportOf, rowsIn } from './runend.js'
import type { RunReport, RunRequest } from './runreport.js'
import { RunTally } from './runstats.js'

/** A run that is on record and has not ended. */
export interface RecordedRun {
  readonly startedAt: string
  /** What it has counted so far. */
  readonly counted: RunTally
  /** What came of the steps that have ended. */
  readonly done: RunReport[]
}

type Purpose = Pick<RunRequest, 'job' | 'mode'>
type Work = (run: RecordedRun) => Promise<RunReport>

/** Does the work of a run under its lease, and records its beginning and its end. */
export function onRecord(
  deps: Dependencies,
  lease: WriterLease,
  purpose: Purpose,
  work: Work,
): Promise<RunReport> {
  const names = { 'shopsync.job': purpose.job ?? undefined, 'shopsync.mode': purpose.mode }
  return inSpan('run', { 'shopsync.run_id': lease.runId, ...names }, async (tell) => {
    const report = await recorded(deps, lease, purpose, work)
    const { status, requests, reason } = report
    const ending = { 'shopsync.status': status, 'shopsync.reason': reason ?? undefined }
    tell({ ...ending, 'shopsync.requests': requests, 'shopsync.cursors': report.cursors.length })
    return report
  })
}

/**
 * A mistyped --tenant shows only after the source was asked who is granted. Such a call did nothing: it must not stand
 * in `status` as the last run, and failed. A job's file is written once and runs unattended: there, the run is kept.
 */
const isWrongUsage = (error: unknown, { job }: Purpose): boolean =>
  job === null && error instanceof Stop && error.exitCode === 2

async function recorded(
  deps: Dependencies,
  lease: WriterLease,
  purpose: Purpose,
  work: Work,
): Promise<RunReport> {
  const run: RecordedRun = { startedAt: now(deps), counted: new RunTally(), done: [] }
  const context = { ...deps, ...lease }
  try {
    await recordStart(context, purpose, run.startedAt)
    const report = await work(run)
    const status = report.reason === 'interrupted' ? 'interrupted' : report.status
    const { counted } = run
    await recordEnd(context, report, { status, error: null, counted, cursors: report.cursors })
    await pruneHistory(context)
    return report
  } catch (error) {
    if (isWrongUsage(error, purpose)) {
      await deps.warehouse.write(removeRun(deps.warehouse.db, lease.runId), lease.fence).catch(() => {})
      throw error
    }
    const reason = endingOf(deps.signal) ?? reasonOf(error)
    const { quarantined } = run.counted
    const nothing = reportOf(context, purpose, run.startedAt, { ends: [], reason, quarantined })
    const report = {
      ...nothing,
      rows_upserted: rowsIn(run.done, 'rows_upserted'),
      rows_deleted: rowsIn(run.done, 'rows_deleted'),
    }
    const status = reason === 'interrupted' ? 'interrupted' : 'failed'
    const cursors = run.done.flatMap((done) => done.cursors)
    await recordEnd(context, report, { status, error, counted: run.counted, cursors }).catch(() => {})
    throw error
  }
}

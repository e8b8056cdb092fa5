/*
 * A run on record: its row in sync_runs exists from the start and shows how the run ended, whatever happened. Used by
 * run.ts, and by steps.ts, whose steps share one row.
 */
import { Stop } from '../base/errors.js'
import { inSpan } from '../base/trace.js'
import type { WriterLease } from '../warehouse/lease/openlease.js'
import { removeRun } from '../warehouse/state/runcursors.js'
import { endingOf } from './ending.js'
import { pruneHistory } from './prunehistory.js'
import { recordEnd, recordStart } from './records.js'
import type { Dependencies, Writing } from './runcontext.js'
import { reasonOf, reportOf, rowsIn } from './runend.js'
import type { CursorReport, RunReport, RunRequest } from './runreport.js'
import { RunStats } from './runstats.js'
import { now } from './tenant.js'

/** A run that is on record and hasn't ended. */
export interface RecordedRun extends Writing {
  readonly startedAt: string
  /**
   * Fires when the run is asked to end, by a signal, its time limit or a command that needs the whole warehouse; not when its
   * lease is lost.
   */
  readonly asked: AbortSignal
  /** What it has counted so far. */
  readonly stats: RunStats
  /** The reports of the steps that have ended. */
  readonly done: RunReport[]
}

type Purpose = Pick<RunRequest, 'job' | 'mode'>

/**
 * A mistyped --tenant shows only after the source was queried for who is granted. Such a call did nothing: it must not
 * show up in `status` as a failed last run. A job's file is written once and runs unattended, so its run is kept.
 */
const isWrongUsage = (error: unknown, { job }: Purpose): boolean =>
  job === null && error instanceof Stop && error.exitCode === 2

/** Does the work of a run under its lease, and records its beginning and its end. */
export function runOnRecord(
  deps: Dependencies,
  lease: WriterLease,
  purpose: Purpose,
  work: (run: RecordedRun) => Promise<RunReport>,
): Promise<RunReport> {
  const { runId, warehouse, signal, asked } = lease
  const { job, mode } = purpose
  const stats = new RunStats()
  const observer = {
    ...deps.observer,
    cursor: (report: CursorReport): void => {
      stats.ended.push(report)
      deps.observer.cursor?.(report)
    },
  }
  const run: RecordedRun = {
    ...deps,
    observer,
    runId,
    warehouse,
    signal,
    asked,
    startedAt: now(deps),
    stats,
    done: [],
  }
  const names = { 'shopsync.job': job ?? undefined, 'shopsync.mode': mode }
  return inSpan('run', { 'shopsync.run_id': runId, ...names }, async (tell) => {
    try {
      await recordStart(run, purpose)
      tellHidden(deps, lease)
      const report = await work(run)
      await recordDone(deps, run, report)
      const { status, requests, reason, cursors } = report
      const ending = { 'shopsync.status': status, 'shopsync.reason': reason ?? undefined }
      tell({ ...ending, 'shopsync.requests': requests, 'shopsync.cursors': cursors.length })
      return report
    } catch (error) {
      if (isWrongUsage(error, purpose)) await warehouse.write(removeRun(warehouse.db, runId)).catch(() => {})
      else await recordFailure(deps, run, purpose, error).catch(() => {})
      throw error
    }
  })
}

/** `privacy` hides more than before: that was done when the run began. */
function tellHidden({ observer }: Pick<Dependencies, 'observer'>, { hidden }: WriterLease): void {
  for (const { table, columns, rows } of hidden.done)
    observer.notice?.('Stored values were hidden, because privacy hides more than before', {
      table,
      columns: columns.join(', '),
      rows,
    })
  if (hidden.left !== null) observer.warning?.(hidden.left, {})
}

async function recordDone(
  { warehouse }: Pick<Dependencies, 'warehouse'>,
  run: RecordedRun,
  report: RunReport,
): Promise<void> {
  const status = report.reason === 'interrupted' ? 'interrupted' : report.status
  await recordEnd({ ...run, warehouse }, report, { status, error: null, cursors: report.cursors })
  // Of all tenants: `run JOB --whole` does it.
  if (!run.shard) await pruneHistory(run)
}

async function recordFailure(
  { warehouse }: Pick<Dependencies, 'warehouse'>,
  run: RecordedRun,
  purpose: Purpose,
  error: unknown,
): Promise<void> {
  const { done, stats } = run
  // Their rows are committed, whatever ended the run.
  const names = ({ step, tenant_id, resource }: CursorReport): string => `${step} ${tenant_id} ${resource}`
  const ended = [...new Map(stats.ended.map((one) => [names(one), one])).values()]
  const reason = endingOf(run.asked) ?? reasonOf(error)
  const report = {
    ...reportOf(run, purpose, run.startedAt, { ends: [], reason, quarantined: stats.quarantined }),
    rows_upserted: rowsIn([...done, ...ended], 'rows_upserted'),
    rows_deleted: rowsIn([...done, ...ended], 'rows_deleted'),
  }
  const status = reason === 'interrupted' ? 'interrupted' : 'failed'
  await recordEnd({ ...run, warehouse }, report, {
    status,
    error,
    cursors: [...done.flatMap((one) => one.cursors), ...ended],
  })
}

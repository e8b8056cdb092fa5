/* The result of a run: the document that it prints, made from the ends of its cursors. Used by run.ts. */
import { isExpected } from '../base/errors.js'
import type { Reason } from '../base/reasons.js'
import { shardName } from '../base/shard.js'
import { cursorName } from '../warehouse/state/cursors.js'
import { quarantinedSince } from '../warehouse/state/quarantine.js'
import type { CursorEnd } from './cursor.js'
import type { WritingRun } from './runcontext.js'
import type { RunReport, RunRequest } from './runreport.js'
import { keyOf, now } from './tenant.js'

/** The results of a run's cursors, and problems with the whole run. */
export interface RunEnd {
  readonly ends: readonly CursorEnd[]
  readonly reason: Reason | null
  /** Values, items and records in quarantine that the run has met. */
  readonly quarantined: number
}

/** Counts the run's values in quarantine, each value once, however many responses showed it. */
export async function withQuarantine(
  { warehouse, shard }: Pick<WritingRun, 'warehouse' | 'shard'>,
  end: RunEnd,
  since: string,
): Promise<RunEnd> {
  if (end.quarantined === 0) return end
  const counts = await quarantinedSince(warehouse, since, shard)
  const ends = end.ends.map((one) => {
    const quarantined = counts.get(cursorName(keyOf(one.task))) ?? 0
    return quarantined === one.quarantined ? one : { ...one, quarantined }
  })
  return { ...end, ends, quarantined: [...counts.values()].reduce((sum, count) => sum + count, 0) }
}

/** A skipped cursor isn't done: its tenant is revoked, or the run ended first. */
const isDone = ({ report: { status } }: CursorEnd): boolean => status === 'ok' || status === 'unavailable'

function statusOf(ends: readonly CursorEnd[], reason: Reason | null): RunReport['status'] {
  if (reason === null && ends.every(isDone)) return 'ok'
  return ends.some((end) => end.report.status === 'ok') ? 'partial' : 'failed'
}

export const rowsIn = <N extends 'rows_upserted' | 'rows_deleted'>(
  reports: readonly Pick<RunReport, N>[],
  name: N,
): number => reports.reduce((total, report) => total + report[name], 0)

export function reportOf(
  run: Pick<WritingRun, 'source' | 'clock' | 'runId' | 'shard' | 'warehouse'>,
  request: Pick<RunRequest, 'job' | 'mode'>,
  startedAt: string,
  { ends, reason, quarantined }: RunEnd,
): RunReport {
  const stats = run.source.stats()
  const reports = ends.map(({ report }) => report)
  return {
    run_id: run.runId,
    job: request.job,
    mode: request.mode,
    shard: run.shard ? shardName(run.shard) : undefined,
    status: statusOf(ends, reason),
    started_at: startedAt,
    finished_at: now(run),
    requests: stats.requests,
    rate_limited: stats.rateLimited,
    retries: stats.retries,
    rows_upserted: rowsIn(reports, 'rows_upserted'),
    rows_deleted: rowsIn(reports, 'rows_deleted'),
    quarantined,
    reason: reason ?? (reports.some((one) => one.reason === 'bug') ? 'bug' : null),
    warehouse_made: run.warehouse.madeAs,
    cursors: reports,
  }
}

/** The code under which a failure of the whole run is counted. */
export const reasonOf = (error: unknown): Reason | null =>
  isExpected(error) ? (error.details.code ?? null) : 'bug'

/*
 * The steps of a job: each is checked, carried out as a run or a comparison, and reported; all reports become one
 * document. Used by src/cli/commands/run.ts.
 */
import { lastDays } from '../config/duration.js'
import type { Job, JobStep } from '../config/job.js'
import type { VerifiedCursor, VerifyReport } from '../sync/reconcile/verifyrun.js'
import { newRunId, now } from '../sync/run/context.js'
import type { CursorChoice, CursorReport, RunReport, RunRequest, TimeRange } from '../sync/run/report.js'
import { type Snapshot, takeSnapshot } from '../sync/run/snapshot.js'
import { parseRange } from '../sync/walks/timerange.js'
import { chooseFrom } from './choice.js'
import type { CommandContext } from './context.js'
import { compareWithSource, execute } from './execute.js'
import { prepareReport } from './reportstep.js'
import { snapshotText } from './text/snapshot.js'
import { runSummary } from './text/summary.js'
import { verifyText } from './text/verify.js'

/** The outcome of a step, for people and for the document of the job. */
export interface StepEnd {
  readonly report: RunReport
  readonly text: string
}

/** A step whose settings are checked. Calling it carries the step out. */
export type PreparedStep = () => Promise<StepEnd>

export function prepareStep(context: CommandContext, job: Job, step: JobStep): PreparedStep {
  const choice = chooseFrom(context.config, step)
  if (step.command === 'verify')
    return async () => {
      const found = await compareWithSource(context, choice, { full: step.full, sample: step.sample ?? 0 })
      return { report: asRun(found, job.name, newRunId(context)), text: `${verifyText(found)}\n` }
    }
  if (step.command === 'report')
    return prepareReport(context, { job: job.name, out: step.out, tenants: choice.tenants })
  if (step.command === 'snapshot')
    return async () => {
      const taken = await snapshotOf(context, choice)
      return { report: asRunOfNothing(taken, job.name), text: `${snapshotText(taken)}\n` }
    }
  const request: RunRequest = {
    mode: step.full && step.command === 'sync' ? 'full' : step.command,
    full: step.full,
    job: job.name,
    ranges: step.command === 'backfill' ? [rangeOf(context, step)] : [],
    ...choice,
  }
  return async () => {
    const report = await execute(context, request)
    return { report, text: runSummary(report) }
  }
}

/** Keeps how the shops stand, by the days of their zones as they are now. */
export async function snapshotOf(
  context: CommandContext,
  choice: Pick<CursorChoice, 'tenants'>,
): Promise<Snapshot> {
  const { clock, model, config, invocation } = context
  const warehouse = await context.readyWarehouse()
  await context.refreshAnalytics(warehouse)
  const settings = { model, names: config.report.names }
  return takeSnapshot({ warehouse, clock, settings, signal: invocation.signals.signal }, choice)
}

/** The report of a snapshot, in the form that all steps of a job share: it asks the source nothing. */
const asRunOfNothing = (taken: Snapshot, job: string): RunReport => ({
  run_id: taken.run_id,
  job,
  mode: 'snapshot',
  status: taken.status,
  started_at: taken.started_at,
  finished_at: taken.finished_at,
  requests: 0,
  rate_limited: 0,
  retries: 0,
  rows_upserted: taken.shops,
  rows_deleted: 0,
  quarantined: 0,
  reason: null,
  cursors: [],
})

function rangeOf(context: CommandContext, { last, from, to }: JobStep): TimeRange {
  const time = now(context)
  if (last === undefined) return parseRange(from ?? '', to ?? '', time, { from: 'from', to: 'to' })
  const days = lastDays(last, new Date(time))
  return parseRange(days.from.toISOString(), days.to.toISOString(), time)
}

/** The report of a `verify`, in the form that all steps of a job share. The table sync_runs has no row of it. */
export function asRun(found: VerifyReport, job: string | null = null, runId = ''): RunReport {
  const states = { equal: 'ok', differs: 'partial', failed: 'failed' } as const
  return {
    run_id: runId,
    job,
    mode: 'verify',
    status: states[found.status],
    started_at: found.started_at,
    finished_at: found.finished_at,
    requests: found.requests,
    rate_limited: 0,
    retries: 0,
    rows_upserted: 0,
    rows_deleted: 0,
    quarantined: 0,
    reason: found.reason,
    cursors: found.cursors.map(asCursor),
  }
}

function asCursor(cursor: VerifiedCursor): CursorReport {
  const { tenant_id, resource, status, requests, missing = 0, outdated = 0, extra = 0 } = cursor
  const fields = cursor.differences?.length ?? 0
  const differs = `differs: ${missing} missing, ${outdated} outdated, ${extra} extra, ${fields} with other values`
  return {
    tenant_id,
    resource,
    step: 1,
    status: status === 'equal' ? 'ok' : status === 'differs' ? 'failed' : status,
    completeness: status === 'equal' ? 'proven' : 'unproven',
    reason: cursor.reason,
    watermark: null,
    requests,
    records: cursor.source ?? 0,
    rows_upserted: 0,
    rows_deleted: 0,
    error: status === 'differs' ? (cursor.error ?? differs) : cursor.error,
  }
}

/** The reports of all steps as one: the document of a job is that of a run. */
export function joinReports(reports: readonly RunReport[]): RunReport | undefined {
  const [first] = reports
  const last = reports.at(-1)
  if (!first || !last || reports.length === 1) return first
  const total = (of: (report: RunReport) => number): number =>
    reports.reduce((all, report) => all + of(report), 0)
  const states = new Set(reports.map((report) => report.status))
  return {
    ...first,
    status: states.size === 1 ? first.status : 'partial',
    finished_at: last.finished_at,
    requests: total((report) => report.requests),
    rate_limited: total((report) => report.rate_limited),
    retries: total((report) => report.retries),
    rows_upserted: total((report) => report.rows_upserted),
    rows_deleted: total((report) => report.rows_deleted),
    quarantined: total((report) => report.quarantined),
    reason: reports.find((report) => report.reason !== null)?.reason ?? null,
    cursors: reports.flatMap((report, i) => report.cursors.map((cursor) => ({ ...cursor, step: i + 1 }))),
  }
}

/*
 * A comparison as a step of a job: it is on record, as a bare `verify` is not. Used by the command line.
 */

import { recordCursors } from '../../engine/run/records.js'
import type { CursorChoice, CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { StepGiven } from '../../engine/run/steps.js'
import { verdict } from '../../engine/walk/verdict.js'
import type { VerifyOptions } from './verification.js'
import { compareAll, type VerifiedCursor, type VerifyReport } from './work.js'

/** Compares the chosen cursors with the source, and records what was found of each. */
export async function verifyStep(
  run: StepGiven,
  job: string,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<{ readonly found: VerifyReport; readonly report: RunReport }> {
  const { report: found, ends } = await compareAll(run, choice, options)
  const report = asRun(found, job, run.runId, run.step)
  const told = ends.flatMap((end, i) => {
    const cursor = report.cursors[i]
    return cursor ? [{ ...end, report: cursor }] : []
  })
  await recordCursors(run, told, 'verify')
  return { found, report }
}

/** The report of a `verify`, in the form that all steps of a job share. */
export function asRun(found: VerifyReport, job: string | null = null, runId = '', step = 1): RunReport {
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
    cursors: found.cursors.map((cursor) => asCursor(cursor, step)),
  }
}

function asCursor(cursor: VerifiedCursor, step: number): CursorReport {
  const { tenant_id, resource, status, requests, missing = 0, outdated = 0, extra = 0 } = cursor
  const fields = cursor.differences?.length ?? 0
  const differs = `differs: ${missing} missing, ${outdated} outdated, ${extra} extra, ${fields} with other values`
  return {
    tenant_id,
    resource,
    step,
    status: status === 'equal' ? 'ok' : status === 'differs' ? 'failed' : status,
    completeness: verdict({ basis: { by: 'counts', isEven: status === 'equal' } }).verdict,
    reason: cursor.reason,
    watermark: null,
    requests,
    records: cursor.source ?? 0,
    records_changed: 0,
    rows_upserted: 0,
    rows_deleted: 0,
    error: status === 'differs' ? (cursor.error ?? differs) : cursor.error,
  }
}

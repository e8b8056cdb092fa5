/*
 * A comparison as a command, and as a step of a job: that is on record, as a bare `verify` is not.
 */
import { z } from 'zod'
import { timeLimit } from '../../engine/run/ending.js'
import { recordCursors } from '../../engine/run/records.js'
import type { CursorChoice, CursorReport, RunReport } from '../../engine/run/runreport.js'
import type { StepGiven } from '../../engine/run/steps.js'
import { verdict } from '../../engine/walk/verdict.js'
import { checkTables } from '../../engine/warehouse/ddl.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepKind, StepSettings } from '../../shell/command.js'
import { shown } from '../../shell/display.js'
import { timeLimitOf } from '../../shell/timelimit.js'
import type { VerifyOptions } from './verification.js'
import { verifyText } from './words.js'
import { compareAll, runVerify, type VerifiedCursor, type VerifyReport } from './work.js'

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

/** Compares the chosen cursors with the source, and writes nothing. */
export async function compareWithSource(
  context: CommandContext,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const warehouse = await context.readingWarehouse()
  await checkTables({ warehouse })
  const deps = await context.dependencies(warehouse)
  using limited = timeLimit(timeLimitOf(context.invocation.options), deps)
  const { signal, timeLimited } = limited
  return await shown(context, { stats: () => deps.source.stats() }, (shows) => {
    const observer = { ...deps.observer, ...shows }
    return runVerify({ ...deps, signal, timeLimited, observer }, choice, options)
  })
}

interface VerifySettings extends StepSettings {
  readonly sample?: number
}

export const verifyAsStep: StepKind = {
  command: 'verify',
  does: 'only say whether anything differs.',
  settings: {
    sample: {
      shape: z
        .int({ error: 'a whole number' })
        .min(0, { error: 'a whole number' })
        .optional()
        .describe('verify: so many records of each tenant and resource are compared field by field.'),
      elsewhere: 'none: only verify compares samples',
    },
  },
  onlyCompares: true,
  prepare: (context, { job, full, sample = 0, ...step }: VerifySettings & { readonly job: string }, tell) => {
    const choice = chooseFrom(context.config, step)
    return {
      asksSource: true,
      carryOut: async (run) => {
        const { found, report } = await shown(context, { stats: () => run.source.stats() }, (shows) => {
          const observer = { ...run.observer, ...shows }
          return verifyStep({ ...run, observer }, job, choice, { full, sample })
        })
        tell(report, `${verifyText(found, context.invocation.out.paper)}\n`)
        return report
      },
    }
  },
}

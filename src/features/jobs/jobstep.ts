/*
 * The steps of a job: each is checked, carried out as a run, a comparison, a snapshot or a report, and told. Used by
 * features/jobs/work.ts.
 */

import { lastDays } from '../../engine/config/duration.js'
import { runStep } from '../../engine/run/run.js'
import type { CursorChoice, RunReport, RunRequest, TimeRange } from '../../engine/run/runreport.js'
import type { JobWork } from '../../engine/run/steps.js'
import { now } from '../../engine/run/tenant.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext } from '../../shell/command.js'
import { shown } from '../../shell/display.js'
import { watched } from '../../shell/execute.js'
import { runSummary } from '../../shell/runsummary.js'
import { reportSettings } from '../analytics/settings.js'
import type { ViewSettings } from '../analytics/viewwords.js'
import { refreshNow } from '../analytics/work.js'
import { parseRange } from '../backfill/timerange.js'
import { beginBackfill } from '../backfill/work.js'
import { beginReconcile } from '../reconcile/work.js'
import { prepareReport } from '../report/step.js'
import { snapshotText } from '../snapshot/words.js'
import { type Snapshot, snapshotStep, takeSnapshot } from '../snapshot/work.js'
import { beginSync } from '../sync/work.js'
import { verifyStep } from '../verify/step.js'
import { verifyText } from '../verify/words.js'
import type { Job, JobStep } from './jobfile.js'
import { scheduleSettings } from './settings.js'

/** Prints what came of a step. */
export type Tell = (report: RunReport, text: string) => void

/** Checks the settings of a step: all steps of a job are checked before the first of them writes anything. */
export function prepareStep(context: CommandContext, job: Job, step: JobStep, tell: Tell): JobWork {
  const choice = chooseFrom(context.config, step)
  if (step.command === 'report')
    return prepareReport(context, { job: job.name, out: step.out, tenants: choice.tenants }, tell)
  if (step.command === 'snapshot') return snapshotWork(context, job, choice, tell)
  if (step.command === 'verify') return verifyWork(context, job, step, tell)
  const asked: RunRequest = {
    mode: step.full && step.command === 'sync' ? 'full' : step.command,
    full: step.full,
    job: job.name,
    ranges: step.command === 'backfill' ? [rangeOf(context, step)] : [],
    ...choice,
  }
  const request = { ...asked, begin: begins[step.command](asked) }
  return {
    asksSource: true,
    carryOut: ({ step: number, ...run }) =>
      watched(context, run, async (watching) => {
        const report = await runStep(watching, request, number)
        tell(report, runSummary(report, context.invocation.out.paper))
        return report
      }),
  }
}

/** What a step does with each cursor. */
const begins = {
  sync: beginSync,
  reconcile: beginReconcile,
  backfill: beginBackfill,
} as const

function verifyWork(context: CommandContext, job: Job, step: JobStep, tell: Tell): JobWork {
  const choice = chooseFrom(context.config, step)
  const how = { full: step.full, sample: step.sample ?? 0 }
  return {
    asksSource: true,
    carryOut: async (run) => {
      const { found, report } = await shown(context, { stats: () => run.source.stats() }, (shows) => {
        const observer = { ...run.observer, ...shows }
        return verifyStep({ ...run, observer }, job.name, choice, how)
      })
      tell(report, `${verifyText(found, context.invocation.out.paper)}\n`)
      return report
    },
  }
}

function snapshotWork(context: CommandContext, job: Job, choice: CursorChoice, tell: Tell): JobWork {
  return {
    asksSource: false,
    carryOut: async (run) => {
      await refreshNow(context, run.warehouse)
      const needs = { clock: run.clock, settings: snapshotSettings(context), signal: run.asked }
      const taken = await snapshotStep(needs, run, choice)
      const report = asRunOfNothing(taken, job.name)
      tell(report, `${snapshotText(taken)}\n`)
      return report
    },
  }
}

const snapshotSettings = ({ model, config }: CommandContext): ViewSettings => ({
  model,
  names: reportSettings(config).names,
})

/** Keeps how the shops stand, by the days of their zones as they are now. */
export async function snapshotOf(
  context: CommandContext,
  choice: Pick<CursorChoice, 'tenants'>,
): Promise<Snapshot> {
  const { clock, invocation } = context
  const warehouse = await context.readyWarehouse()
  await refreshNow(context, warehouse)
  const settings = snapshotSettings(context)
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
  const names = { from: 'from', to: 'to' }
  const { timeZone } = scheduleSettings(context.config)
  if (last === undefined) return parseRange(from ?? '', to ?? '', time, { names, timeZone })
  const days = lastDays(last, new Date(time))
  return parseRange(days.from.toISOString(), days.to.toISOString(), time)
}

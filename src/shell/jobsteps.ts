/* What steps of jobs have in common: the step.ts of features goes through here. */
import { runStep, type StepRequest } from '../engine/run/run.js'
import type { RunReport } from '../engine/run/runreport.js'
import type { JobWork } from '../engine/run/steps.js'
import type { CommandContext, TellStep } from './command.js'
import { RunWatch } from './execute.js'
import { runSummary } from './runsummary.js'

/** A step that is a run's work on cursors. */
export const runAsStep = (context: CommandContext, request: StepRequest, tell: TellStep): JobWork => ({
  asksSource: true,
  carryOut: async ({ step, ...run }) => {
    using watch = new RunWatch(context, run)
    const work = async (): Promise<RunReport> => {
      const report = await runStep({ ...run, observer: watch.observer }, request, step)
      tell(report, runSummary(report, context.invocation.out.paper))
      return report
    }
    return await watch.ending(work())
  },
})

/** The report of a step that asks the source nothing, in the form that all steps share. */
export const reportOfNothing = (
  done: Pick<RunReport, 'run_id' | 'job' | 'mode' | 'started_at' | 'finished_at'> &
    Partial<Pick<RunReport, 'rows_upserted'>>,
): RunReport => ({
  status: 'ok',
  requests: 0,
  rate_limited: 0,
  retries: 0,
  rows_upserted: 0,
  rows_deleted: 0,
  quarantined: 0,
  reason: null,
  cursors: [],
  ...done,
})

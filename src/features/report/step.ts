/* The step `report` of a job: writes the page, and asks the source nothing. Used by jobstep.ts. */
import type { Int64 } from '../../../schema/resource.js'
import type { RunReport } from '../../engine/run/runreport.js'
import type { JobWork } from '../../engine/run/steps.js'
import { now } from '../../engine/run/tenant.js'
import { remembered } from '../../engine/warehouse/failedworks.js'
import type { CommandContext } from '../../shell/command.js'
import { reportText } from './words.js'
import { checkPlace, writeReport } from './work.js'

export interface ReportStep {
  readonly job: string
  /** The file; report.html in the working directory where the job names none. */
  readonly out: string | undefined
  /** null: all. */
  readonly tenants: readonly Int64[] | null
}

/** Checks that the page can be written before any step of the job begins. */
export function prepareReport(
  context: CommandContext,
  { job, out = 'report.html', tenants }: ReportStep,
  tell: (report: RunReport, text: string) => void,
): JobWork {
  checkPlace(out, context.invocation.io)
  return {
    asksSource: false,
    carryOut: async ({ runId, warehouse, asked: signal }) => {
      const started = now(context)
      const trying = { what: 'report', warehouse, now: started, signal } as const
      const written = await remembered(trying, () => writeReport(context, out, tenants))
      const report: RunReport = {
        run_id: runId,
        job,
        mode: 'report',
        status: 'ok',
        started_at: started,
        finished_at: now(context),
        requests: 0,
        rate_limited: 0,
        retries: 0,
        rows_upserted: 0,
        rows_deleted: 0,
        quarantined: 0,
        reason: null,
        cursors: [],
      }
      tell(report, `${reportText(written)}\n`)
      return report
    },
  }
}

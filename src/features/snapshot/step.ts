/* A snapshot as a command, and as a step of a job. */
import type { CursorChoice } from '../../engine/run/runreport.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepKind } from '../../shell/command.js'
import { reportOfNothing } from '../../shell/jobsteps.js'
import { reportSettings } from '../analytics/settings.js'
import type { ViewSettings } from '../analytics/viewwords.js'
import { refreshNow } from '../analytics/work.js'
import { snapshotText } from './words.js'
import { type Snapshot, snapshotStep, takeSnapshot } from './work.js'

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

export const snapshotAsStep: StepKind = {
  command: 'snapshot',
  does: 'keep how each shop stands today; asks the API nothing.',
  misfit: ({ full, resources }) => {
    if (full) return ['full', 'none: a snapshot is always whole']
    return resources === 'all' ? undefined : ['resources', 'none: a snapshot is of whole shops']
  },
  prepare: (context, { job, ...step }, tell) => {
    const choice = chooseFrom(context.config, step)
    return {
      asksSource: false,
      carryOut: async (run) => {
        await refreshNow(context, run.warehouse)
        const needs = { clock: run.clock, settings: snapshotSettings(context), signal: run.asked }
        const taken = await snapshotStep(needs, run, choice)
        const { run_id, started_at, finished_at, shops } = taken
        const report = reportOfNothing({
          ...{ run_id, job, mode: 'snapshot', started_at, finished_at },
          rows_upserted: shops,
        })
        tell(report, `${snapshotText(taken)}\n`)
        return report
      },
    }
  },
}

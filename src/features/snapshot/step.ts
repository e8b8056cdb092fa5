/* The step `snapshot` of a job. */
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { StepKind } from '../../shell/command.js'

export const snapshotAsStep: StepKind = {
  command: 'snapshot',
  does: 'record where each shop stands today; sends no request.',
  isWhole: true,
  misfit: ({ full, resources }) => {
    if (full) return ['full', 'none: a snapshot is always complete']
    return resources === 'all' ? undefined : ['resources', 'none: a snapshot covers whole shops']
  },
  prepare: async (context, { job, ...step }, tell) => {
    const [{ snapshotSettings, snapshotStep, snapshotText }, { refreshNow }, { reportOfNothing }] =
      await Promise.all([
        import('./work.js'),
        import('../analytics/work.js'),
        import('../../shell/execute.js'),
      ])
    const choice = chooseFrom(context.config, step)
    return {
      asksSource: false,
      carryOut: async (run) => {
        await refreshNow(context, run.warehouse)
        const needs = { clock: run.clock, settings: snapshotSettings(context), signal: run.asked }
        const taken = await snapshotStep(needs, run, choice)
        const { run_id, started_at, finished_at, shops } = taken
        const report = reportOfNothing({
          run_id,
          job,
          mode: 'snapshot',
          started_at,
          finished_at,
          rows_upserted: shops,
        })
        tell(report, `${snapshotText(taken)}\n`)
        return report
      },
    }
  },
}

/* The step `reconcile` of a job. */
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { StepKind } from '../../shell/command.js'
import { runAsStep } from '../../shell/jobsteps.js'

export const reconcileAsStep: StepKind = {
  command: 'reconcile',
  does: 'also find deleted and missing records.',
  prepare: async (context, { job, full, ...step }, tell) => {
    const choice = chooseFrom(context.config, step)
    const { beginReconcile } = await import('./work.js')
    return runAsStep(
      context,
      { mode: 'reconcile', full, job, ...choice, begin: beginReconcile({ full }) },
      tell,
    )
  },
}

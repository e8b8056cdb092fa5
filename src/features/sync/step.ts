/* The step `sync` of a job. */
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { StepKind } from '../../shell/command.js'
import { runAsStep } from '../../shell/jobsteps.js'

export const syncAsStep: StepKind = {
  command: 'sync',
  does: 'read the records that changed.',
  prepare: async (context, { job, full, ...step }, tell) => {
    const choice = chooseFrom(context.config, step)
    const { beginSync } = await import('./work.js')
    const mode = full ? 'full' : 'sync'
    return runAsStep(context, { mode, full, job, ...choice, begin: beginSync({ mode }) }, tell)
  },
}

/* A reconcile as a step of a job. */
import type { JobWork } from '../../engine/run/steps.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepPlace, StepSettings, TellStep } from '../../shell/command.js'
import { runAsStep } from '../../shell/execute.js'
import { beginReconcile } from './work.js'

/** As a step of a job. */
export async function reconcileAsStep(
  context: CommandContext,
  { job, next, earlier, full, due, ...step }: StepSettings & StepPlace,
  tell: TellStep,
): Promise<JobWork> {
  const choice = chooseFrom(context.config, step)
  const targets = due ? await import('../targets/checkround.js') : undefined
  const isAfterPolls = earlier.some((one) => one.command === 'sync' && one.due)
  const round = targets ? { round: targets.checkRound(context, choice, { next, isAfterPolls }) } : {}
  return runAsStep(
    context,
    { mode: 'reconcile', full, job, ...choice, ...round, begin: beginReconcile({ full }) },
    tell,
  )
}

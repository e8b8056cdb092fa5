/* A reconcile as a step of a job. */
import type { JobWork } from '../../engine/run/steps.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepPlace, StepSettings, TellStep } from '../../shell/command.js'
import { runAsStep } from '../../shell/execute.js'
import { dueRound } from '../../shell/features.js'
import { beginReconcile } from './work.js'

export async function reconcileAsStep(
  context: CommandContext,
  { job, next, earlier, full, due, ...step }: StepSettings & StepPlace,
  tell: TellStep,
): Promise<JobWork> {
  const choice = chooseFrom(context.config, step)
  const isAfterPolls = earlier.some((one) => one.command === 'sync' && one.due)
  const round = due && { round: await dueRound('reconcile', context, choice, { next, isAfterPolls }) }
  return runAsStep(
    context,
    { mode: 'reconcile', full, job, ...choice, ...round, begin: beginReconcile({ full }) },
    tell,
  )
}

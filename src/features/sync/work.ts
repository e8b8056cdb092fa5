/* What `sync` does with each cursor. */

import { withSharedLook } from '../../engine/run/askshared.js'
import type { Begin } from '../../engine/run/cursor.js'
import { walkOf } from '../../engine/run/listwalk.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import type { JobWork } from '../../engine/run/steps.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepPlace, StepSettings, TellStep } from '../../shell/command.js'
import { runAsStep } from '../../shell/execute.js'
import { dueRound } from '../../shell/features.js'

/** Walks what is new, or everything again. */
export function beginSync({ mode }: Pick<RunRequest, 'mode'>): Begin {
  const asked = mode === 'full' ? 'full' : 'sync'
  return (cursor, isNews) => {
    const isNames = cursor.resource.resource.list === 'strings'
    const work = isNames ? new NamesSync(cursor) : walkOf(cursor, isNews ? 'news' : asked)
    return withSharedLook(cursor, work, { isWhole: asked === 'full' })
  }
}

/** As a step of a job. */
export async function syncAsStep(
  context: CommandContext,
  { job, next, later, full, due, ...step }: StepSettings & StepPlace,
  tell: TellStep,
): Promise<JobWork> {
  const mode = full ? 'full' : 'sync'
  const choice = chooseFrom(context.config, step)
  const isBeforeChecks = later.some((one) => one.command === 'reconcile' && one.due)
  const round = due && { round: await dueRound('sync', context, choice, { next, isBeforeChecks }) }
  return runAsStep(context, { mode, full, job, ...choice, ...round, begin: beginSync({ mode }) }, tell)
}

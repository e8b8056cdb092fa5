/* What `sync` does with each cursor. */
import type { Begin } from '../../engine/run/cursor.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import type { JobWork } from '../../engine/run/steps.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepSettings, TellStep } from '../../shell/command.js'
import { runAsStep } from '../../shell/execute.js'
import { withSharedLook } from '../reconcile/askshared.js'
import { walkOf } from '../reconcile/work.js'

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
export function syncAsStep(
  context: CommandContext,
  { job, full, ...step }: StepSettings & { readonly job: string },
  tell: TellStep,
): JobWork {
  const mode = full ? 'full' : 'sync'
  const choice = chooseFrom(context.config, step)
  return runAsStep(context, { mode, full, job, ...choice, begin: beginSync({ mode }) }, tell)
}

/* The step `verify` of a job: it is recorded, unlike a `verify` on its own. */
import { z } from 'zod'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { StepKind, StepSettings } from '../../shell/command.js'

export const verifyAsStep: StepKind = {
  command: 'verify',
  does: 'only report whether anything differs.',
  settings: {
    sample: {
      shape: z
        .int({ error: 'a whole number, 0 or more' })
        .min(0, { error: 'a whole number, 0 or more' })
        .optional()
        .describe('verify: compare this many records of each tenant and resource field by field.'),
      elsewhere: 'none: only verify compares samples',
    },
  },
  onlyCompares: true,
  prepare: async (
    context,
    { job, full, sample = 0, ...step }: StepSettings & { readonly job: string; readonly sample?: number },
    tell,
  ) => {
    const [{ verifyStep }, { verifyText }, { shown }] = await Promise.all([
      import('./verifywork.js'),
      import('./words.js'),
      import('../../shell/progress.js'),
    ])
    const choice = chooseFrom(context.config, step)
    return {
      asksSource: true,
      carryOut: async (run) => {
        const { found, report } = await shown(context, { stats: () => run.source.stats() }, (shows) => {
          const observer = { ...run.observer, ...shows }
          return verifyStep({ ...run, observer }, job, choice, { full, sample })
        })
        tell(report, `${verifyText(found, context.invocation.out.terminal)}\n`)
        return report
      },
    }
  },
}

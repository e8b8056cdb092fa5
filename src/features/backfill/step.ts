/* The step `backfill` of a job: its range is two instants, or a number of days back from today. */
import { z } from 'zod'
import { isDays, lastDays } from '../../engine/config/duration.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import type { TimeRange } from '../../engine/run/runreport.js'
import { now } from '../../engine/run/tenant.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { CommandContext, StepKind, StepSettings } from '../../shell/command.js'
import { parseRange } from '../../shell/timerange.js'

interface BackfillSettings extends StepSettings {
  readonly last?: string
  readonly from?: string
  readonly to?: string
}

const elsewhere = 'none: only backfill has a range'

const wholeDays = 'whole days such as "P30D"'

const instant = (description: string) => ({
  shape: z
    .string({ error: 'a time such as "2026-01-31T00:00:00Z"' })
    .optional()
    .meta({ description, examples: ['2026-01-31T00:00:00Z'] }),
  elsewhere,
})

function rangeOf(context: CommandContext, { last, from, to }: BackfillSettings): TimeRange {
  const time = now(context)
  const names = { from: 'from', to: 'to' }
  const { timeZone } = scheduleSettings(context.config)
  const tell = (line: string): void => context.log.info(line)
  if (last === undefined) return parseRange(from ?? '', to ?? '', time, { names, timeZone, tell })
  const days = lastDays(last, new Date(time))
  return parseRange(days.from.toISOString(), days.to.toISOString(), time)
}

export const backfillAsStep: StepKind = {
  command: 'backfill',
  does: 'read a range of time again.',
  settings: {
    last: {
      shape: z
        .string({ error: wholeDays })
        .refine(isDays, { error: wholeDays })
        .optional()
        .meta({
          description:
            'backfill: this many days (UTC) up to the beginning of today, as an ISO 8601 duration. Whole days, so another run on the same day resumes one that was cut short.',
          examples: ['P30D'],
        }),
      elsewhere,
    },
    from: instant('backfill: the first instant of the range.'),
    to: instant('backfill: the first instant after the range.'),
  },
  misfit: ({ full, last, from, to }: BackfillSettings) => {
    if (full) return ['full', 'none: a backfill reads its range']
    const hasFrom = from !== undefined
    const hasTo = to !== undefined
    if (last !== undefined)
      return hasFrom || hasTo
        ? ['last', 'either last, or from and to', 'Leave "last" out, or leave "from" and "to" out']
        : undefined
    if (hasFrom !== hasTo) return [hasFrom ? 'to' : 'from', 'both ends of the range']
    return hasFrom ? undefined : ['last', '"last", such as "P30D", or "from" and "to"']
  },
  prepare: async (context, { job, ...step }: BackfillSettings & { readonly job: string }, tell) => {
    const choice = chooseFrom(context.config, step)
    const ranges = [rangeOf(context, step)]
    const [{ beginBackfill }, { runAsStep }] = await Promise.all([
      import('./work.js'),
      import('../../shell/execute.js'),
    ])
    const request = { mode: 'backfill', full: false, job, ranges, ...choice } as const
    return runAsStep(context, { ...request, begin: beginBackfill({ ranges }) }, tell)
  },
}

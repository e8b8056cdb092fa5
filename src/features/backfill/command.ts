import {
  type Command,
  choiceOptions,
  type Feature,
  shardOption,
  timeLimitOption,
} from '../../shell/command.js'
import { commandNamed } from '../../shell/features.js'

const backfillCommand: Command = {
  name: 'backfill',
  group: 'Get the data',
  summary: 'read again what was updated in a range of time; moves no watermark',
  help: `
--from and --to take an instant with its time zone, a date (its midnight in schedule.timeZone) or a length of time back
from now, such as 7d, 26h or P7D. For several ranges, repeat both flags. The same command again resumes a backfill that
was cut short, unless a length of time back or a --to in the future moves the range. A list of names, which has no times,
is read in full.`,
  examples: [
    ['shopsync backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z', 'January, of every tenant'],
    ['shopsync backfill --from 7d --to 1d', 'from seven days ago to one day ago'],
    [
      'shopsync backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --tenant 101 --dry-run',
      'what that would cost for one tenant',
    ],
  ],
  options: [
    {
      flags: '--from <time>',
      description: 'first instant of the range: 2026-01-31T00:00:00Z, 2026-01-31 or 7d',
      repeatable: true,
    },
    {
      flags: '--to <time>',
      description: 'first instant after the range; now, if it lies in the future',
      repeatable: true,
    },
    ...choiceOptions,
    timeLimitOption,
    shardOption,
    { flags: '--dry-run', description: 'show the cost and write nothing' },
  ],
  run: async (invocation) => {
    if (invocation.options.dryRun === true)
      return commandNamed('plan', invocation.features).run({ ...invocation, argument: 'backfill' })
    const [{ runOnce }, { rangesByFlags }, { beginBackfill }] = await Promise.all([
      import('../../shell/execute.js'),
      import('../../shell/timerange.js'),
      import('./work.js'),
    ])
    return runOnce(invocation, (context) => {
      const ranges = rangesByFlags(context)
      return { mode: 'backfill', ranges, begin: beginBackfill({ ranges }) }
    })
  },
}

export const backfill: Feature = {
  command: backfillCommand,
  tables: async () => (await import('./tables.js')).backfillTables,
  step: async () => (await import('./step.js')).backfillAsStep,
}

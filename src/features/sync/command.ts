import { Stop } from '../../engine/base/errors.js'
import {
  type Command,
  choiceOptions,
  type Feature,
  shardOption,
  timeLimitOption,
} from '../../shell/command.js'
import { dueRound } from '../../shell/features.js'

const syncCommand: Command = {
  name: 'sync',
  group: 'Get the data',
  summary: 'read what changed since the last run, for every tenant and resource',
  help: `
The first run reads everything; later ones only records newer than the watermark of each tenant and resource.
If a run is cut short, for whatever reason, the next one resumes there. With --due it reads the lists that are due by the
configured targets, as many as the rate limit allows until the time limit, or within an hour; the others wait for the
next run.`,
  examples: [
    ['shopsync sync', 'everything that the configuration names'],
    ['shopsync sync --tenant 101 --tenant 102', 'two tenants'],
    ['shopsync sync --resource notes --full', 'walks one resource again from the start'],
    ['shopsync sync --due --time-limit PT4M', 'what is due by its target, every five minutes'],
    [
      'shopsync sync --time-limit PT45M --quiet',
      'for cron: stops before the next one starts, and prints only what needs attention',
    ],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
    shardOption,
    { flags: '--full', description: 'ignore watermarks and walk everything again' },
    { flags: '--due', description: 'only the lists that are due by their targets, best first' },
  ],
  run: async (invocation) => {
    const [{ runOnce }, { beginSync }] = await Promise.all([
      import('../../shell/execute.js'),
      import('./work.js'),
    ])
    const { full, due } = invocation.options
    const mode = full ? 'full' : 'sync'
    if (!due) return runOnce(invocation, () => ({ mode, begin: beginSync({ mode }) }))
    if (full) refuseBoth()
    return runOnce(invocation, async (context) => ({
      mode,
      begin: beginSync({ mode }),
      round: await dueRound('sync', context, context.choice),
    }))
  },
}

function refuseBoth(): never {
  throw new Stop('Found --due and --full, expected one of them: due lists are not read in full', {
    exitCode: 2,
    hint: 'Type shopsync sync --due, or shopsync sync --full',
  })
}

export const sync: Feature = {
  command: syncCommand,
  step: async () => ({
    command: 'sync',
    does: 'read the records that changed.',
    takesDue: true,
    prepare: async (...given) => (await import('./work.js')).syncAsStep(...given),
  }),
}

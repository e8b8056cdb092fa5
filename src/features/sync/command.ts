import { Stop } from '../../engine/base/errors.js'
import { type Command, choiceOptions, type Feature, timeLimitOption } from '../../shell/command.js'

const syncCommand: Command = {
  name: 'sync',
  summary: 'read what changed since the last run, of every tenant and resource',
  help: `
The first run walks everything; later ones ask for records newer than the watermark of each tenant and resource.
The next run goes on where a run was cut short, whatever cut it short. With --due it reads the lists that are due by the
targets of the configuration, as many as the rate limit allows until the time limit, or within an hour; the others wait
for the next one.`,
  examples: [
    ['shopsync sync', 'everything that the configuration names'],
    ['shopsync sync --tenant 101 --tenant 102', 'two tenants'],
    ['shopsync sync --resource notes --full', 'walks all of one resource again, whatever was seen before'],
    ['shopsync sync --due --time-limit PT4M', 'what is due by its target, every five minutes'],
    [
      'shopsync sync --time-limit PT45M --quiet',
      'for cron: ends before the next one begins, and says only what needs somebody',
    ],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
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
    const { syncRound } = await import('../targets/due.js')
    return runOnce(invocation, (context) => ({
      mode,
      begin: beginSync({ mode }),
      round: syncRound(context, context.choice),
    }))
  },
}

function refuseBoth(): never {
  throw new Stop('Found --due and --full, expected one of them: what is due is not read whole', {
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

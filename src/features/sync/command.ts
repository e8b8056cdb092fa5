import { type Command, choiceOptions, type Feature, timeLimitOption } from '../../shell/command.js'

const syncCommand: Command = {
  name: 'sync',
  summary: 'read what changed since the last run, of every tenant and resource',
  help: `
The first run walks everything; later ones ask for records newer than the watermark of each tenant and resource.
The next run goes on where a run was cut short, whatever cut it short.`,
  examples: [
    ['shopsync sync', 'everything that the configuration names'],
    ['shopsync sync --tenant 101 --tenant 102', 'two tenants'],
    ['shopsync sync --resource notes --full', 'walks all of one resource again, whatever was seen before'],
    [
      'shopsync sync --time-limit PT45M --quiet',
      'for cron: ends before the next one begins, and says only what needs somebody',
    ],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
    { flags: '--full', description: 'ignore watermarks and walk everything again' },
  ],
  run: async (invocation) => {
    const [{ runOnce }, { beginSync }] = await Promise.all([
      import('../../shell/execute.js'),
      import('./work.js'),
    ])
    const mode = invocation.options.full ? 'full' : 'sync'
    return runOnce(invocation, () => ({ mode, begin: beginSync({ mode }) }))
  },
}

export const sync: Feature = {
  command: syncCommand,
  step: async () => ({
    command: 'sync',
    does: 'read the records that changed.',
    prepare: async (...given) => (await import('./work.js')).syncAsStep(...given),
  }),
}

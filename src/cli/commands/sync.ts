import { type Command, choiceOptions, timeLimitOption } from '../command.js'

export const syncCommand: Command = {
  name: 'sync',
  summary: 'read what changed since the last run, of every tenant and resource',
  help: `
Examples:
  shopsync sync                                  everything that the configuration names
  shopsync sync --tenant 7 --tenant 9            two tenants
  shopsync sync --resource NAME --full           walk all of one resource again, whatever was seen before

The first run walks everything; later ones ask for records newer than the watermark of each tenant and resource.
The next run goes on where a run was cut short, whatever cut it short.`,
  options: [
    ...choiceOptions,
    timeLimitOption,
    { flags: '--full', description: 'ignore watermarks and walk everything again' },
  ],
  run: async (invocation) => {
    const { runOnce } = await import('../execute.js')
    return runOnce(invocation, () => ({ mode: invocation.options.full ? 'full' : 'sync' }))
  },
}

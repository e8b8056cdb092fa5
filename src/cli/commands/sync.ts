import { type Command, choiceOptions } from '../command.js'

export const syncCommand: Command = {
  name: 'sync',
  summary: 'bring in what changed since the last run, of every tenant and resource',
  help: `
Examples:
  shopsync sync                                  everything that the configuration names
  shopsync sync --tenant 7 --tenant 9            two tenants
  shopsync sync --resource NAME --full           walk all of one resource again, whatever was seen before

The first run walks everything; later ones ask for what is newer than the watermark of each tenant and resource.
A run that was cut short, in whatever way, is taken up by the next.`,
  options: [
    ...choiceOptions,
    { flags: '--full', description: 'ignore watermarks and walk everything again' },
  ],
  run: async (invocation) => {
    const [{ withContext }, { execute, exitCodeOf }, { chosenByFlags }, { runSummary }] = await Promise.all([
      import('../context.js'),
      import('../execute.js'),
      import('../choice.js'),
      import('../text/summary.js'),
    ])
    return withContext(invocation, async (context) => {
      const { options, out, signals } = invocation
      const choice = chosenByFlags(context.config, options)
      const report = await execute(context, { mode: options.full ? 'full' : 'sync', job: null, ...choice })
      // Of a run that was interrupted, main says where it resumes.
      if (signals.signal.aborted) return 1
      if (out.json) await out.document(report)
      out.print(runSummary(report))
      return exitCodeOf(report)
    })
  },
}

import { type Command, choiceOptions } from '../command.js'

export const reconcileCommand: Command = {
  name: 'reconcile',
  summary: 'find records that were deleted at the source, or that the warehouse lacks, and repair both',
  help: `
First a sync; then the source is asked how many records are newer than a time, at a handful of times, and its answers
are compared with the warehouse's own counts. Only where they differ is anything listed. A record is marked deleted
(_deleted_at) when the source says that it is gone; its row stays.

If more than a fifth of the rows of one tenant and resource (reconcile.maxDeletes) is about to be marked, nothing of it
is, and that cursor fails: --accept-deletes says that they were really deleted.`,
  options: [
    ...choiceOptions,
    { flags: '--full', description: 'list every id instead of counting' },
    { flags: '--accept-deletes', description: 'mark as deleted however many are gone' },
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
      const report = await execute(context, {
        mode: 'reconcile',
        job: null,
        full: options.full === true,
        acceptDeletes: options.acceptDeletes === true,
        ...chosenByFlags(context.config, options),
      })
      if (signals.signal.aborted) return 1
      if (out.json) await out.document(report)
      out.print(runSummary(report))
      return exitCodeOf(report)
    })
  },
}

import { type Command, choiceOptions } from '../command.js'

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

export const backfillCommand: Command = {
  name: 'backfill',
  summary: 'pull again what was updated in a range of time; moves no watermark',
  help: `
The range is half open: --from belongs to it, --to does not. Both need a time zone. Several ranges: repeat both flags.
A backfill that was cut short goes on where it stopped when the same command is given again.

  shopsync backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --tenant 101`,
  options: [
    {
      flags: '--from <time>',
      description: 'first instant of the range, ISO 8601 with a time zone',
      repeatable: true,
    },
    { flags: '--to <time>', description: 'first instant after the range', repeatable: true },
    ...choiceOptions,
    { flags: '--dry-run', description: 'say what it would cost, and write nothing' },
  ],
  run: async (invocation) => {
    if (invocation.options.dryRun === true)
      return (await import('./plan.js')).showPlan(invocation, 'backfill')
    const [
      { withContext },
      { execute, exitCodeOf },
      { chosenByFlags },
      { runSummary },
      { parseRanges },
      { now },
    ] = await Promise.all([
      import('../context.js'),
      import('../execute.js'),
      import('../choice.js'),
      import('../text/summary.js'),
      import('../../sync/walks/timerange.js'),
      import('../../sync/run/context.js'),
    ])
    return withContext(invocation, async (context) => {
      const { options, out, signals } = invocation
      const ranges = parseRanges(texts(options.from), texts(options.to), now(context))
      const report = await execute(context, {
        mode: 'backfill',
        job: null,
        ranges,
        ...chosenByFlags(context.config, options),
      })
      if (signals.signal.aborted) return 1
      if (out.json) await out.document(report)
      out.print(runSummary(report))
      return exitCodeOf(report)
    })
  },
}

import { type Command, choiceOptions, type Feature, timeLimitOption } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'

const verifyCommand: Command = {
  name: 'verify',
  summary: 'compare the warehouse with the source and only report: exit 0 when equal, 1 when not',
  help: `
Like reconcile, but writes nothing. --sample N also compares N random records of each tenant and resource, field by
field, at the cost of one request each.`,
  examples: [
    ['shopsync verify', 'compares counts'],
    ['shopsync verify --tenant 101 --sample 20', 'and the content of 20 records of each list'],
    ['shopsync verify --resource notes --full', 'every id of one resource'],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
    { flags: '--full', description: 'list every id instead of counting' },
    {
      flags: '--sample <n>',
      description: 'compare the content of this many records of each cursor (default: 0)',
    },
  ],
  run: async (invocation) => {
    const [{ withContext }, { verifyText }, { runTroubles }, { asRun, compareWithSource }] =
      await Promise.all([
        import('../../shell/commandcontext.js'),
        import('./words.js'),
        import('../../shell/runsummary.js'),
        import('./verifywork.js'),
      ])
    const { options, out } = invocation
    const sample = wholeNumber('--sample', options.sample, { example: 10 }) ?? 0
    return withContext(invocation, async (context) => {
      const how = { full: options.full === true, sample }
      const report = await compareWithSource(context, context.choice, how)
      await out.answer(report, verifyText(report, out.terminal))
      out.complain(runTroubles(asRun(report)))
      return report.status === 'equal' ? 0 : 1
    })
  },
}

export const verify: Feature = {
  command: verifyCommand,
  step: async () => (await import('./verifystep.js')).verifyAsStep,
}

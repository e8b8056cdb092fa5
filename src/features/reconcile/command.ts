/* The commands `reconcile` and `verify`: one comparison, which the first repairs and the second only reports. */
import {
  type Command,
  choiceOptions,
  type Feature,
  shardOption,
  timeLimitOption,
} from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'

const reconcileCommand: Command = {
  name: 'reconcile',
  group: 'Compare with the source',
  summary: 'find records that were deleted at the source, or that the warehouse lacks, and repair both',
  help: `
Runs a sync first. Then it compares the source's counts with its own, and lists records only where they differ
(docs/reconcile.md). A record that the source confirms as gone is marked deleted (_deleted_at); its row stays.

If more than a fifth of the rows of one tenant and resource (reconcile.maxDeletes) would be marked, none is, and that
cursor fails. --accept-deletes confirms that the records were really deleted.`,
  examples: [
    ['shopsync reconcile', 'every tenant and resource, as the nightly job does'],
    ['shopsync reconcile --full --tenant 101 --resource notes', 'lists every id of one list'],
    ['shopsync reconcile --resource notes --accept-deletes', 'after a large deletion at the source'],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
    shardOption,
    { flags: '--full', description: 'list every id instead of counting' },
    { flags: '--accept-deletes', description: 'mark records as deleted, however many are gone' },
  ],
  run: async (invocation) => {
    const [{ runOnce }, { beginReconcile }] = await Promise.all([
      import('../../shell/execute.js'),
      import('./work.js'),
    ])
    const { options } = invocation
    const how = { full: options.full === true, acceptDeletes: options.acceptDeletes === true }
    return runOnce(invocation, () => ({ mode: 'reconcile', ...how, begin: beginReconcile(how) }))
  },
}

export const reconcile: Feature = {
  command: reconcileCommand,
  settings: async () => (await import('../../engine/config/reconcilesection.js')).reconcileSection,
  step: async () => ({
    command: 'reconcile',
    does: 'also find deleted and missing records.',
    takesDue: true,
    prepare: async (...given) => (await import('./step.js')).reconcileAsStep(...given),
  }),
}

const verifyCommand: Command = {
  name: 'verify',
  group: 'Compare with the source',
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
    shardOption,
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

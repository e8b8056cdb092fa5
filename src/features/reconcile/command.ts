import { type Command, choiceOptions, type Feature, timeLimitOption } from '../../shell/command.js'

const reconcileCommand: Command = {
  name: 'reconcile',
  summary: 'find records that were deleted at the source, or that the warehouse lacks, and repair both',
  help: `
Runs a sync first. Then reconcile asks the source how many records are newer than a given time, for a handful of times,
and compares those counts with its own. It lists records only where the counts differ. A record that the source
confirms as gone is marked deleted (_deleted_at); its row stays.

If more than a fifth of the rows of one tenant and resource (reconcile.maxDeletes) would be marked, none is, and that
cursor fails. --accept-deletes confirms that the records were really deleted.`,
  examples: [
    ['shopsync reconcile', 'every tenant and resource, as the nightly job does'],
    ['shopsync reconcile --tenant 101 --full', 'lists every id of one tenant'],
    ['shopsync reconcile --resource notes --accept-deletes', 'after a large deletion at the source'],
  ],
  options: [
    ...choiceOptions,
    timeLimitOption,
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

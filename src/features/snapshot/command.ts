import type { Command, Feature } from '../../shell/command.js'

const snapshotCommand: Command = {
  name: 'snapshot',
  summary: 'keep how each shop stands today: stock, work in progress, receivables',
  help: `
Writes today's row of each shop into the table daily_snapshots, by the shop's own day: value of the stock and items below
their minimum, orders in progress and estimates with what they would bring, receivables by age. The API keeps no history
of these, so that a day without a snapshot can never be charted. Given again on the same day, it takes the place of the
first. The nightly job does it after sync and reconcile.

Sends no request.`,
  examples: [
    ['shopsync snapshot', 'today, of every shop'],
    [
      '30 2 * * *  cd /srv/shopsync && shopsync run nightly --quiet',
      'a line of a crontab: the nightly job does it, too',
    ],
  ],
  run: async (invocation) => {
    const [{ withContext }, { snapshotOf }, { snapshotText }, { shown }, { withFollowing }] =
      await Promise.all([
        import('../../shell/commandcontext.js'),
        import('./work.js'),
        import('./words.js'),
        import('../../shell/progress.js'),
        import('../../shell/execute.js'),
      ])
    return withContext(invocation, async (context) => {
      const taken = await withFollowing(context, { job: null, onRecord: false }, () =>
        shown(context, { what: 'keeping how each shop stands' }, () => snapshotOf(context, context.choice)),
      )
      await invocation.out.answer(taken, snapshotText(taken))
      return 0
    })
  },
}

export const snapshot: Feature = {
  command: snapshotCommand,
  tables: async () => (await import('./tables.js')).snapshotTables,
  step: async () => (await import('./step.js')).snapshotAsStep,
}

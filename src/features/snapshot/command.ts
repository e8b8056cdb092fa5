import type { Command, Feature } from '../../shell/command.js'

const snapshotCommand: Command = {
  name: 'snapshot',
  group: 'Read the data',
  summary: 'record where each shop stands today: stock, work in progress, receivables',
  help: `
Writes today's row of each shop into the table daily_snapshots, by the shop's own day. The API keeps no history of these
amounts, so a day without a snapshot can never be charted. A second snapshot on the same day replaces the first. The
nightly job takes one after sync and reconcile. Sends no request.`,
  examples: [
    ['shopsync snapshot', 'today, of every shop'],
    [
      '30 2 * * *  cd /srv/shopsync && shopsync run nightly --quiet',
      'a line of a crontab: the nightly job takes it, too',
    ],
  ],
  run: async (invocation) => {
    const [{ withContext }, { snapshotOf, snapshotText }, { shown }, { withFollowing }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('../../shell/progress.js'),
      import('../../shell/execute.js'),
    ])
    return withContext(invocation, async (context) => {
      const taken = await withFollowing(context, { job: null, onRecord: false }, () =>
        shown(context, { what: 'recording where each shop stands' }, () =>
          snapshotOf(context, context.choice),
        ),
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

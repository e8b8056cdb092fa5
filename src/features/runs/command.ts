import { type Command, choiceOptions } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'

const usualNumber = 20
const mostRuns = 100_000

export const runsCommand: Command = {
  name: 'runs',
  group: 'Watch it',
  summary: 'what ran, when, for how long, what it fetched, what failed and why',
  help: `
Reads only the warehouse. Runs are kept for history.keep; idle ones older than a week are thinned out.`,
  examples: [
    ['shopsync runs', `the last ${usualNumber} runs`],
    ['shopsync runs --since 7d', 'the runs of the last seven days'],
    ['shopsync runs --failed --last 5', 'the last five with failures'],
    ['shopsync runs --tenant 101 --resource notes', 'the runs that worked on one tenant and resource'],
  ],
  options: [
    {
      flags: '--last <n>',
      description: `at most this many runs, the newest; ${usualNumber} without this flag`,
    },
    {
      flags: '--since <time>',
      description: 'all runs since then: 7d, 26h, 2026-01-31 or an ISO 8601 time',
    },
    { flags: '--failed', description: 'only runs with failures' },
    { flags: '--events', description: 'also what events made due, one line per hour' },
    ...choiceOptions,
  ],
  run: async (invocation) => {
    const [{ withContext }, { readRuns }, { runsText }, { absenceText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./words.js'),
      import('../../engine/warehouse/layout/migrate.js'),
    ])
    const { options, out } = invocation
    const last = wholeNumber('--last', options.last, { from: 1, to: mostRuns, example: usualNumber })
    return withContext(invocation, async (context) => {
      const warehouse = await context.open('read')
      const absent = await absenceText(warehouse)
      if (absent !== undefined) {
        await out.answer({ runs: [], warehouse_absent: absent }, absent)
        return 0
      }
      await context.refuseUnknown()
      const onlyFailed = options.failed === true
      // The time zone code is loaded only when it is needed.
      const since =
        options.since === undefined
          ? undefined
          : (await import('../../shell/timerange.js')).sinceFlag(context)
      const runs = await readRuns({
        warehouse,
        last: last ?? (since === undefined ? usualNumber : mostRuns),
        onlyFailed,
        withEvents: options.events === true,
        since,
        tenants: options.tenant === undefined ? null : context.choice.tenants,
        resources: options.resource === undefined ? null : context.choice.resources,
        nowMicros: context.clock.nowMicros(),
      })
      await out.answer({ runs }, runsText(runs, onlyFailed, out.terminal, since))
      return 0
    })
  },
}

import { Stop } from '../../engine/base/errors.js'
import {
  type Command,
  type CommandContext,
  choiceOptions,
  type Feature,
  type Invocation,
} from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'

const usualNumber = 20
const mostEvents = 100_000

const eventsCommand: Command = {
  name: 'events',
  group: 'Keep it running',
  summary: "show the source's events and what became of each; make lists due by hand",
  help: `
list: the events that were received, newest first. Reads only the warehouse.

ring: makes lists due as an event would, and waits until they are read. The run that holds the lease reads them; if none
does, this command does. Exits with 1 if some could not be read.`,
  examples: [
    ['shopsync events list', `the last ${usualNumber} events`],
    ['shopsync events list --state waiting', 'the ones that no walk has settled yet'],
    ['shopsync events list --tenant 101 --resource repair_orders --since 2h', 'of one list'],
    ['shopsync events ring --tenant 101 --resource repair_orders', 'reads one list now'],
  ],
  argument: { name: 'action', description: 'list or ring', choices: ['list', 'ring'] },
  options: [
    {
      flags: '--state <state>',
      description: 'only events in this state',
      choices: ['waiting', 'settled', 'deleted', 'exists', 'unseen', 'ignored', 'left', 'unknown'],
    },
    { flags: '--last <n>', description: `at most this many, the newest; ${usualNumber} without this flag` },
    {
      flags: '--since <time>',
      description: 'all events received since then: 7d, 26h, 2026-01-31 or an ISO 8601 time',
    },
    ...choiceOptions,
  ],
  run: async (invocation) => {
    const { argument = '' } = invocation
    if (argument !== 'list' && argument !== 'ring')
      throw new Stop(`Found events ${argument}, expected list or ring`, {
        exitCode: 2,
        hint: 'Type shopsync events list',
      })
    if (argument === 'ring') refuseForeignFlags(invocation.options)
    const { withContext } = await import('../../shell/commandcontext.js')
    return withContext(invocation, argument === 'list' ? list : ring)
  },
}

/** Stops at a flag that a ring would ignore: it rings for whole lists, and for more of them than was meant. */
function refuseForeignFlags(options: Invocation['options']): void {
  const flag = ['state', 'last', 'since'].find((name) => options[name] !== undefined)
  if (flag === undefined) return
  throw new Stop(`Found --${flag} with events ring, expected it only with events list`, {
    exitCode: 2,
    hint: `Leave --${flag} out: --tenant and --resource choose the lists`,
  })
}

async function list(context: CommandContext): Promise<number> {
  const [{ eventsText, nobodyListened, receivedEvents }, { absenceText }, { sinceFlag }] = await Promise.all([
    import('./eventlist.js'),
    import('../../engine/warehouse/layout/migrate.js'),
    import('../../shell/timerange.js'),
  ])
  const { options, out } = context.invocation
  const last = wholeNumber('--last', options.last, { from: 1, to: mostEvents, example: usualNumber })
  await context.refuseUnknown()
  const since = sinceFlag(context)
  const absent = await absenceText(await context.open('read'))
  if (absent !== undefined) {
    await out.answer({ events: [], warehouse_absent: absent }, absent)
    return 0
  }
  const { tenants, resources } = context.choice
  const events = await receivedEvents(context, {
    limit: last ?? (since === undefined ? usualNumber : mostEvents),
    order: 'desc',
    state: options.state === undefined ? undefined : String(options.state),
    since,
    tenants: options.tenant === undefined ? null : tenants,
    resources: options.resource === undefined ? null : resources,
  })
  await out.answer({ events: events ?? [] }, events ? eventsText(events, out.terminal) : nobodyListened)
  return 0
}

async function ring(context: CommandContext): Promise<number> {
  const { ringByHand, rungText } = await import('./byhand.js')
  const { out } = context.invocation
  await context.refuseUnknown()
  const rung = await ringByHand(context)
  await out.answer(rung, rungText(rung))
  const isRead = rung.settled === rung.rung
  if (!isRead) out.complain([rungText(rung)])
  return isRead ? 0 : 1
}

export const events: Feature = {
  command: eventsCommand,
  settings: async () => (await import('./settings.js')).eventSection,
  besides: async () => (await import('./inbox.js')).Inbox,
  besideWork: async (context, warehouse) => (await import('./beside.js')).besideRunsOf(context, warehouse),
}

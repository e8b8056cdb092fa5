import { Stop } from '../../engine/base/errors.js'
import {
  type Command,
  type CommandContext,
  choiceOptions,
  type Feature,
  type Invocation,
} from '../../shell/command.js'
import type { RunPlan } from './work.js'

const modes = ['sync', 'backfill', 'reconcile'] as const

const planCommand: Command = {
  name: 'plan',
  group: 'Get the data',
  summary: 'the cost of a run before it runs: requests, records, minutes, table changes',
  help: `
Sends at most one request for each tenant and resource, and writes nothing. If that were more requests than the rate
limit allows in a minute, it asks some of the lists, picked at random, and takes the others to be like them. Minutes
assume the present rate limit and api.rateReserve. The plan of a reconcile counts the rows, since a list that has lost
some is read whole, and otherwise assumes that it finds nothing: each difference costs a few more requests.`,
  examples: [
    ['shopsync plan', 'of a sync'],
    ['shopsync plan sync --full', 'of a sync that walks everything again'],
    ['shopsync plan reconcile --resource notes', 'of a reconcile of one resource'],
    ['shopsync plan backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z', 'of a backfill'],
  ],
  argument: {
    name: 'command',
    description: 'sync (default), backfill or reconcile',
    isOptional: true,
    choices: modes,
  },
  options: [
    ...choiceOptions,
    { flags: '--full', description: 'the cost of sync --full or reconcile --full' },
    { flags: '--from <time>', description: 'start of the range, as in backfill', repeatable: true },
    { flags: '--to <time>', description: 'end of the range, as in backfill', repeatable: true },
  ],
  run: async (invocation) => {
    const mode = modeOf(invocation.argument)
    refuseForeignFlags(mode, invocation.options)
    return showPlan(invocation, mode)
  },
}

function modeOf(word = 'sync'): (typeof modes)[number] {
  const mode = modes.find((name) => name === word)
  if (mode) return mode
  throw new Stop(`Found plan ${word}, expected sync, backfill or reconcile`, {
    exitCode: 2,
    hint: 'Type shopsync plan sync',
  })
}

/** Stops at a flag that this plan would ignore: it would show the cost of another run than the one that was meant. */
function refuseForeignFlags(mode: (typeof modes)[number], options: Invocation['options']): void {
  const isRange = mode === 'backfill'
  const flag = (isRange ? ['full'] : ['from', 'to']).find((name) => options[name] !== undefined)
  if (flag === undefined) return
  throw new Stop(
    `Found --${flag} with plan ${mode}, expected it only with ${isRange ? 'plan sync or plan reconcile' : 'plan backfill'}`,
    {
      exitCode: 2,
      hint: isRange
        ? 'Leave --full out: a backfill always reads its whole range'
        : 'Type shopsync plan backfill --from 7d --to 1d, or leave --from and --to out',
    },
  )
}

async function showPlan(invocation: Invocation, mode: (typeof modes)[number]): Promise<number> {
  const [
    { withContext },
    { makePlan },
    { plannedViews },
    { viewsWanted },
    { rangesByFlags },
    { planText },
    { Stamps },
    { shown },
    { absenceText },
  ] = await Promise.all([
    import('../../shell/commandcontext.js'),
    import('./work.js'),
    import('../analytics/makeviews.js'),
    import('../analytics/work.js'),
    import('../../shell/timerange.js'),
    import('./words.js'),
    import('../../engine/base/clock.js'),
    import('../../shell/progress.js'),
    import('../../engine/warehouse/layout/migrate.js'),
  ])
  const { options, out } = invocation
  return withContext(invocation, async (context) => {
    const { config, clock } = context
    const full = options.full === true
    const request = {
      mode: mode === 'sync' && full ? ('full' as const) : mode,
      job: null,
      ...context.choice,
      full,
      ranges: mode === 'backfill' ? rangesByFlags(context) : [],
    }
    // A plan stores nothing, so its stamps don't have to follow those of the warehouse, which may have no tables yet.
    const deps = await context.dependencies(await context.open('read'), {
      stamps: new Stamps(clock),
      siblings: 'perhaps',
    })
    const made = await shown(context, { stats: () => deps.source.stats() }, (shows) =>
      makePlan({ ...deps, observer: { ...deps.observer, ...shows } }, request, config.api.rateReserve),
    )
    const absent = await absenceText(deps.warehouse)
    const views = await plannedViews(deps.warehouse, viewsWanted(context))
    const freshness = request.mode === 'sync' ? await freshnessOf(context, made) : undefined
    if (out.json)
      await out.document({
        ...made,
        view_changes: views.made,
        warehouse_absent: absent,
        freshness: freshness ? freshness.plan : undefined,
      })
    else out.say(planText(made, { views, absent, more: freshness?.text ?? '' }, out.terminal))
    return made.cursors.some((cursor) => cursor.status === 'failed') ? 1 : 0
  })
}

/** The freshness that the targets lead to; undefined without targets, or if no run has recorded its timing. */
async function freshnessOf(context: CommandContext, { rate, table_changes }: RunPlan) {
  const { freshnessSettings } = await import('../../engine/config/targetsection.js')
  const settings = freshnessSettings(context.config)
  if (!settings || table_changes.some(({ table }) => table === 'sync_cursors')) return undefined
  const [{ planFreshness }, { freshnessPlanText }, { chooseResources }] = await Promise.all([
    import('../targets/freshnessplan.js'),
    import('../targets/words.js'),
    import('../../engine/run/choosecursors.js'),
  ])
  const { choice, config, clock } = context
  const warehouse = await context.open('read')
  const plan = await planFreshness(warehouse, settings, {
    resources: chooseResources({ config, warehouse }, choice),
    isWanted: (id) => (choice.tenants?.includes(id) ?? true) && !config.sync.exceptTenants.includes(id),
    nowMicros: clock.nowMicros(),
    window: rate
      ? (Math.max(1, Math.floor(rate.limit * (1 - rate.reserve))) * 3600) / rate.window_seconds
      : undefined,
  })
  return { plan, text: freshnessPlanText(plan, rate) }
}

export const plan: Feature = {
  command: planCommand,
  afterWork: async (context, ended) => (await import('./afterrun.js')).keepAfterRun(context, ended),
}

/*
 * Rounds: which cursors `sync --due`, and job steps with "due": true, work on. pollranking.ts and windowbudget.ts
 * decide; this file gives them the facts from the warehouse and the source.
 */
import { Stop } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { chooseResources, chooseTenants } from '../../engine/run/choosecursors.js'
import type { ChooseRound, Granted } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { zonesFirst } from '../../engine/run/zonesfirst.js'
import type { CommandContext } from '../../shell/command.js'
import { rateOf as limitOf } from '../plan/forecast.js'
import { keepSeenLength } from '../plan/windowlength.js'
import { Announcements } from './announced.js'
import { chooseChecks } from './deletechecks.js'
import { type DueList, dueLists, heardOf, type ResourceTotals, totalsOf } from './duelists.js'
import { boundOf, type ChoiceRules, meanRates, RoundChoice } from './pollranking.js'
import { type FreshnessSettings, freshnessSettings, timesOf } from './settings.js'
import { readChecks } from './sql.js'
import { keepRoom } from './stretchedbound.js'
import { budgetEnd, budgetOf, roundEnd, type WindowNow, windowAnHour } from './windowbudget.js'

const hourMs = 3_600_000

/** See `collectAt`. A round reads many rows to choose among, and stores few: memory would buy it no time. */
const heapGrowth = 100

/** What a round is part of. */
export interface RoundPlace {
  /** The next planned instants of its job, in ms since the epoch. */
  readonly next?: ((after: number) => readonly number[]) | undefined
  /** Whether to leave requests for the checks of deletions that follow. */
  readonly isBeforeChecks?: boolean
}

/** The share of a round's budget left for the checks of deletions that follow. */
const forChecks = 0.1

/** Throws Stop without targets: nothing is due then. */
function settingsFor({
  config,
  invocation,
}: Pick<CommandContext, 'config' | 'invocation'>): FreshnessSettings {
  const settings = freshnessSettings(config)
  if (settings) return settings
  const what = invocation.command === 'sync' ? '--due' : '"due": true'
  throw new Stop(`Found ${what} but no targets in the configuration; expected targets`, {
    exitCode: 2,
    hint: `Add "targets": {"*": "PT6H"} to the configuration (docs/freshness.md), or leave ${what} out`,
  })
}

/** The rate limit according to the last response; undefined if there is none. */
async function windowNow({ source, clock, warehouse }: WritingRun): Promise<WindowNow | undefined> {
  const stats = source.stats()
  const told = limitOf(stats, 0, Number(clock.nowMicros() / 1000n))
  if (!told || !stats.window) return undefined
  const { resetsAt } = stats.window
  const limit = await keepSeenLength(warehouse, told, resetsAt)
  return { limit: limit.limit, remaining: limit.remaining, resetsAt, length: limit.window_seconds * 1000 }
}

/** What applies to one round. Times in milliseconds since the epoch. */
interface RoundNow {
  readonly now: number
  readonly endsAt: number
  /** Requests; undefined if no limit is known. */
  readonly budget: number | undefined
  readonly windowAnHour: number | undefined
}

async function roundNow(run: WritingRun, { next }: RoundPlace, reserve: number): Promise<RoundNow> {
  const now = Number(run.clock.nowMicros() / 1000n)
  const instants = next?.(now)
  const endsAt = roundEnd(now, { limit: run.endsAt, next: instants })
  const window = await windowNow(run)
  const until = window ? budgetEnd(now, { endsAt, resetsAt: window.resetsAt, next: instants }) : endsAt
  return {
    ...{ now, endsAt },
    budget: window && budgetOf(window, { now, until, reserve }),
    windowAnHour: window && windowAnHour(window, reserve),
  }
}

/** The lists that a run may work on. */
function wantedLists(run: WritingRun, choice: CursorChoice, granted: Granted) {
  const isGranted = new Set(granted.granted)
  return {
    resources: chooseResources(run, choice),
    tenants: chooseTenants(run, choice, granted).filter((id) => isGranted.has(id)),
  }
}

/** The round of a sync: the lists that are worth a request, and some that were never read. */
export function syncRound(
  context: CommandContext,
  choice: CursorChoice,
  place: RoundPlace = {},
): ChooseRound {
  const settings = settingsFor(context)
  const reserve = context.config.api.rateReserve
  return async (run, granted) => {
    context.invocation.io.collectAt(heapGrowth)
    const round = await roundNow(run, place, reserve)
    const now = fromMicros(BigInt(round.now) * 1000n)
    const announcements = await Announcements.there(context, await context.readyWarehouse())
    const heard = await heardOf(announcements, now)
    const wanted = wantedLists(run, choice, granted)
    const rules = rulesOf(settings, round, { wanted, totals: await totalsOf(run.warehouse, heard) })
    // A round over some of the lists knows nothing of the others.
    if (choice.tenants === null && choice.resources === null)
      await keepRoom(run.warehouse, settings, { lists: rules.lists, windowAnHour: round.windowAnHour })
    const best = new RoundChoice<DueList>({
      ...rules,
      budget: round.budget && Math.floor(round.budget * (place.isBeforeChecks ? 1 - forChecks : 1)),
    })
    const unread = await dueLists(run.warehouse, wanted, {
      ...{ heard, now, targetOf: timesOf(settings) },
      take: (list) => best.take(list),
    })
    const chosen = best.chosen(unread)
    const tasks = [...chosen.polled.map(({ task }) => task), ...zonesFirst(chosen.unread, () => true)]
    return { tasks, endsAt: round.endsAt, targetOf: timesOf(settings) }
  }
}

interface AllLists {
  readonly wanted: ReturnType<typeof wantedLists>
  readonly totals: readonly ResourceTotals[]
}

/** Time in hours. */
function rulesOf(
  settings: FreshnessSettings,
  { windowAnHour: window }: RoundNow,
  { wanted: { tenants, resources }, totals }: AllLists,
): Omit<ChoiceRules, 'budget'> & { readonly lists: number } {
  const isWanted = new Set(resources.map(({ name }) => name))
  const unavailable = totals
    .filter(({ resource }) => isWanted.has(resource))
    .reduce((sum, total) => sum + total.unavailable, 0)
  const lists = Math.max(0, tenants.length * resources.length - unavailable)
  return {
    lists,
    targetOf: (resource) => (settings.targetOf(resource) ?? settings.atLeast) / hourMs,
    meanOf: meanRates(totals),
    bound: boundOf(settings.atLeast / hourMs, { lists, windowAnHour: window }),
    windowAnHour: window,
  }
}

/** The round of a reconcile: the lists whose deletions were not checked for longest. */
export function checkRound(
  context: CommandContext,
  choice: CursorChoice,
  place: RoundPlace = {},
): ChooseRound {
  const settings = settingsFor(context)
  const { deletes } = settings
  const reserve = context.config.api.rateReserve
  return async (run, granted) => {
    const { now, endsAt, budget } = await roundNow(run, place, reserve)
    const { resources, tenants } = wantedLists(run, choice, granted)
    const byName = new Map(resources.map((resource) => [resource.name, resource]))
    const isWanted = new Set(tenants)
    const rows = (await readChecks(run.warehouse)).filter(
      ({ tenant_id, resource, status }) =>
        isWanted.has(tenant_id) && byName.has(resource) && status !== 'unavailable' && status !== 'failed',
    )
    const tasks = chooseChecks(rows, { now, deletes, budget }).flatMap(({ tenant_id, resource }) => {
      const model = byName.get(resource)
      return model ? [{ tenantId: tenant_id, resource: model }] : []
    })
    return { tasks, endsAt, targetOf: timesOf(settings) }
  }
}

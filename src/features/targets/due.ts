/*
 * Rounds: which cursors `sync --due`, and job steps with "due": true, work on. pollranking.ts and windowbudget.ts
 * decide; this file gives them the facts from the warehouse and the source.
 */
import { Stop } from '../../engine/base/errors.js'
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { chooseResources, chooseTenants } from '../../engine/run/choosecursors.js'
import type { ChooseRound, Granted } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { zonesFirst } from '../../engine/run/zonesfirst.js'
import type { CommandContext } from '../../shell/command.js'
import { rateOf as limitOf } from '../plan/forecast.js'
import { keepSeenLength } from '../plan/windowlength.js'
import { Announcements } from './announced.js'
import { checkDueSince, DueChecks } from './deletechecks.js'
import { type DueList, dueLists, heardOf, type ResourceTotals, totalsOf } from './duelists.js'
import { boundOf, type ChoiceRules, meanRates, RoundChoice } from './pollranking.js'
import { type FreshnessSettings, freshnessSettings, timesOf } from './settings.js'
import { type CheckRow, uncheckedLists } from './sql.js'
import { keepRoom } from './stretchedbound.js'
import {
  afterPolls,
  budgetEnd,
  budgetOf,
  reservedForChecks,
  roundEnd,
  type WindowNow,
  windowAnHour,
} from './windowbudget.js'

const hourMs = 3_600_000

/** See `collectAt`. A round reads many rows to choose among, and stores few: memory would buy it no time. */
const heapGrowth = 100

/** What a round is part of. */
export interface RoundPlace {
  /** The next planned instants of its job, in ms since the epoch. */
  readonly next?: ((after: number) => readonly number[]) | undefined
  /** Whether to leave requests for the checks of deletions that follow. */
  readonly isBeforeChecks?: boolean
  /** Whether a step before it polled, in the same round. */
  readonly isAfterPolls?: boolean
}

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
  /** Until when the budget reaches. */
  readonly until: number
  /** Requests; undefined if no limit is known. */
  readonly budget: number | undefined
  readonly window: WindowNow | undefined
  readonly windowAnHour: number | undefined
}

/** `used`: requests that the round has already sent; `now`: when it began. */
async function roundOf(
  run: WritingRun,
  { next }: RoundPlace,
  { now, used, reserve }: { readonly now: number; readonly used: number; readonly reserve: number },
): Promise<RoundNow> {
  const instants = next?.(now)
  const endsAt = roundEnd(now, { limit: run.endsAt, next: instants })
  const window = await windowNow(run)
  const until = window ? budgetEnd(now, { endsAt, resetsAt: window.resetsAt, next: instants }) : endsAt
  const begun = window && { ...window, remaining: Math.min(window.limit, window.remaining + used) }
  return {
    ...{ now, endsAt, until, window },
    budget: begun && budgetOf(begun, { now, until, reserve }),
    windowAnHour: window && windowAnHour(window, reserve),
  }
}

/** In hours, until its budget is over. */
const lastsOf = ({ now, until }: Pick<RoundNow, 'now' | 'until'>): number => Math.max(0, until - now) / hourMs

const nowOf = ({ clock }: Pick<WritingRun, 'clock'>): number => Number(clock.nowMicros() / 1000n)

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
    const round = await roundOf(run, place, { now: nowOf(run), used: 0, reserve })
    const now = fromMicros(BigInt(round.now) * 1000n)
    const announcements = await Announcements.there(context, await context.readyWarehouse())
    const heard = await heardOf(announcements, now)
    const wanted = wantedLists(run, choice, granted)
    const rules = rulesOf(settings, round, { wanted, totals: await totalsOf(run.warehouse, heard) })
    const forChecks = async (whole: number): Promise<number> => {
      const { deletes } = settings
      const checks = await dueChecks(run, wanted, { now: round.now, deletes, most: 0 })
      return reservedForChecks(whole, checks.neededAnHour * lastsOf(round))
    }
    // A round over some of the lists knows nothing of the others.
    if (choice.tenants === null && choice.resources === null)
      await keepRoom(run.warehouse, settings, { lists: rules.lists, windowAnHour: round.windowAnHour })
    const { budget } = round
    const best = new RoundChoice<DueList>({
      ...rules,
      budget: budget && place.isBeforeChecks ? budget - (await forChecks(budget)) : budget,
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
  round: RoundNow,
  { wanted: { tenants, resources }, totals }: AllLists,
): Omit<ChoiceRules, 'budget'> & { readonly lists: number } {
  const { now, window, windowAnHour: perHour } = round
  const isWanted = new Set(resources.map(({ name }) => name))
  const unavailable = totals
    .filter(({ resource }) => isWanted.has(resource))
    .reduce((sum, total) => sum + total.unavailable, 0)
  const lists = Math.max(0, tenants.length * resources.length - unavailable)
  return {
    lists,
    targetOf: (resource) => (settings.targetOf(resource) ?? settings.atLeast) / hourMs,
    meanOf: meanRates(totals),
    bound: boundOf(settings.atLeast / hourMs, { lists, windowAnHour: perHour }),
    windowAnHour: perHour,
    lasts: lastsOf(round),
    windowEndsIn: window && Math.max(0, window.resetsAt - now) / hourMs,
  }
}

/** The checks of deletions that are due. `most`: how many may be chosen. */
async function dueChecks(
  { warehouse }: Pick<WritingRun, 'warehouse'>,
  { resources, tenants }: ReturnType<typeof wantedLists>,
  { now, deletes, most }: { readonly now: number; readonly deletes: number; readonly most: number },
): Promise<DueChecks<CheckRow>> {
  const names = new Set(resources.map(({ name }) => name))
  const isWanted = new Set(tenants)
  const checks = new DueChecks<CheckRow>({ now, deletes }, most)
  const since = fromMicros(BigInt(Math.round(checkDueSince({ now, deletes }))) * 1000n)
  for await (const rows of uncheckedLists(warehouse, since))
    for (const row of rows) {
      const isAway = row.status === 'unavailable' || row.status === 'failed'
      if (!isAway && names.has(row.resource) && isWanted.has(row.tenant_id)) checks.take(row)
    }
  return checks
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
  return async (run, granted, done) => {
    const polls = place.isAfterPolls ? done.findLast(({ mode }) => mode === 'sync') : undefined
    const used = polls ? polls.requests + run.source.stats().requests : 0
    const began = polls ? toMillis(polls.started_at) : nowOf(run)
    const round = await roundOf(run, place, { now: began, used, reserve })
    const wanted = wantedLists(run, choice, granted)
    const most = round.budget ?? Number.POSITIVE_INFINITY
    const checks = await dueChecks(run, wanted, { now: nowOf(run), deletes, most })
    const left =
      round.budget && polls
        ? afterPolls(
            round.budget,
            used,
            reservedForChecks(round.budget, checks.neededAnHour * lastsOf(round)),
          )
        : round.budget
    const byName = new Map(wanted.resources.map((resource) => [resource.name, resource]))
    const tasks = checks.chosen(left).flatMap(({ tenant_id, resource }) => {
      const model = byName.get(resource)
      return model ? [{ tenantId: tenant_id, resource: model }] : []
    })
    return { tasks, endsAt: round.endsAt, targetOf: timesOf(settings) }
  }
}

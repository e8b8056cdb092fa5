/*
 * Rounds: which cursors `sync --due`, and steps of jobs with "due": true, work on. pollranking.ts and windowbudget.ts decide;
 * here they are given what the warehouse and the source tell.
 */
import { Stop } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { chooseResources, chooseTenants } from '../../engine/run/choosecursors.js'
import type { ChooseRound, Granted } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import type { CursorTask } from '../../engine/run/tenant.js'
import { zonesFirst } from '../../engine/run/zonesfirst.js'
import type { CommandContext } from '../../shell/command.js'
import { rateOf as limitOf } from '../plan/forecast.js'
import { Announcements } from './announced.js'
import { chooseChecks } from './deletechecks.js'
import { type DueLists, dueLists } from './duelists.js'
import { boundOf, chooseLists } from './pollranking.js'
import { type FreshnessSettings, freshnessSettings } from './settings.js'
import { readChecks } from './sql.js'
import { budgetEnd, budgetOf, roundEnd, type WindowNow, windowAnHour } from './windowbudget.js'

const hourMs = 3_600_000

/** What a round is part of. */
export interface RoundPlace {
  /** The next planned instants of its job, in ms since the epoch. */
  readonly next?: ((after: number) => readonly number[]) | undefined
  /** Whether requests are to be left for checks of deletions that follow. */
  readonly isBeforeChecks?: boolean
}

/** Of a round's budget, what is left for checks of deletions that follow. */
const forChecks = 0.1

/** Throws Stop where no targets are set: nothing is due then. */
function settingsFor({
  config,
  invocation,
}: Pick<CommandContext, 'config' | 'invocation'>): FreshnessSettings {
  const settings = freshnessSettings(config)
  if (settings) return settings
  const what = invocation.command === 'sync' ? '--due' : '"due": true'
  throw new Stop(`Found ${what}, and no targets in the configuration; expected targets`, {
    exitCode: 2,
    hint: `Add "targets": {"*": "PT6H"} to the configuration (docs/freshness.md), or leave ${what} out`,
  })
}

/** The rate limit as the last answer told it; undefined where there is none. */
function windowNow({ source, clock }: WritingRun): WindowNow | undefined {
  const stats = source.stats()
  const limit = limitOf(stats, 0, Number(clock.nowMicros() / 1000n))
  if (!limit || !stats.window) return undefined
  const { resetsAt } = stats.window
  return { limit: limit.limit, remaining: limit.remaining, resetsAt, length: limit.window_seconds * 1000 }
}

/** What holds for one round. Times in milliseconds since the epoch. */
interface RoundNow {
  readonly now: number
  readonly endsAt: number
  /** Requests; undefined where no limit is known. */
  readonly budget: number | undefined
  readonly windowAnHour: number | undefined
}

function roundNow(run: WritingRun, { next }: RoundPlace, reserve: number): RoundNow {
  const now = Number(run.clock.nowMicros() / 1000n)
  const instants = next?.(now)
  const endsAt = roundEnd(now, { limit: run.endsAt, next: instants })
  const window = windowNow(run)
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
    const round = roundNow(run, place, reserve)
    const announcements = await Announcements.there(context, await context.readyWarehouse())
    const wanted = wantedLists(run, choice, granted)
    const lists = await dueLists(run.warehouse, wanted, {
      announcements,
      now: fromMicros(BigInt(round.now) * 1000n),
      targetOf: (resource) => settings.targetOf(resource) ?? settings.atLeast,
    })
    const tasks = tasksOf(lists, settings, {
      ...round,
      budget: round.budget && Math.floor(round.budget * (place.isBeforeChecks ? 1 - forChecks : 1)),
    })
    return { tasks, endsAt: round.endsAt }
  }
}

function tasksOf(
  { polled, unread }: DueLists,
  settings: FreshnessSettings,
  { budget, windowAnHour: window }: RoundNow,
): readonly CursorTask[] {
  const atLeast = settings.atLeast / hourMs
  const chosen = chooseLists(polled, unread, {
    targetOf: (resource) => (settings.targetOf(resource) ?? settings.atLeast) / hourMs,
    bound: boundOf(atLeast, { lists: polled.length + unread.length, windowAnHour: window }),
    budget,
  })
  return [...chosen.polled.map(({ task }) => task), ...zonesFirst(chosen.unread, () => true)]
}

/** The round of a reconcile: the lists whose deletions were not checked for longest. */
export function checkRound(
  context: CommandContext,
  choice: CursorChoice,
  place: RoundPlace = {},
): ChooseRound {
  const { deletes } = settingsFor(context)
  const reserve = context.config.api.rateReserve
  return async (run, granted) => {
    const { now, endsAt, budget } = roundNow(run, place, reserve)
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
    return { tasks, endsAt }
  }
}

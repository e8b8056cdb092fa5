/*
 * The round of `sync --due`, and of a job's step with "due": true. pollranking.ts and windowbudget.ts decide; this file
 * gives them the facts from the warehouse and the source.
 */
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Config } from '../../engine/config/config.js'
import { type FreshnessSettings, targetsInVain, timesOf } from '../../engine/config/targetsection.js'
import type { Granted } from '../../engine/run/askauthorizations.js'
import type { ChooseRound } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { zonesFirst } from '../../engine/run/zonesfirst.js'
import type { CommandContext, RoundPlace } from '../../shell/command.js'
import { Announcements } from './announced.js'
import { dueChecks } from './checkround.js'
import { type DueList, dueLists, heardOf, type ResourceTotals, totalsOf } from './duelists.js'
import { boundOf, type ChoiceRules, meanRates, RoundChoice } from './pollranking.js'
import {
  lastsOf,
  nowOf,
  type RoundNow,
  roundOf,
  settingsFor,
  type WantedLists,
  wantedLists,
} from './roundnow.js'
import { keepRoom } from './stretchedbound.js'
import { reservedForChecks } from './windowbudget.js'

const hourMs = 3_600_000

/** See `collectAt`. A round reads many rows to choose among, and stores few: memory would buy it no time. */
const heapGrowth = 100

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
    const wanted = wantedLists(run, choice, granted)
    const round = await roundOf(run, place, { now: nowOf(run), used: 0, reserve, share: wanted.share })
    const now = fromMicros(BigInt(round.now) * 1000n)
    const announcements = await Announcements.there(context, await context.open('create'))
    const heard = await heardOf(announcements, now)
    warnInVain(run, granted)
    const rules = rulesOf(settings, round, { wanted, totals: await totalsOf(run.warehouse, heard) })
    if (isWhole(choice, context.config)) await keepRoom(run.warehouse, settings, roomOfAll(rules, wanted))
    const { budget, endsAt } = await pollsOf(run, round, { wanted, settings, place })
    const best = new RoundChoice<DueList>({ ...rules, budget })
    const unread = await dueLists(run.warehouse, wanted, {
      heard,
      now,
      atLeast: settings.atLeast,
      own: settings.own,
      targetOf: timesOf(settings),
      shard: run.shard,
      take: (list) => best.take(list),
    })
    const chosen = best.chosen(unread)
    return {
      tasks: chosen.polled.map(({ task }) => task),
      limited: { tasks: zonesFirst(chosen.unread, () => true), requests: chosen.forUnread },
      endsAt,
      targetOf: timesOf(settings),
    }
  }
}

/** As for an unknown tenant in sync.tenants, but nothing else of the round depends on it. */
function warnInVain({ config, observer }: WritingRun, { granted, revoked, missing, reason }: Granted): void {
  if (reason !== null) return
  const { exceptTenants: except } = config.sync
  const unknown = targetsInVain(config, { known: [...granted, ...revoked, ...missing], except })
  if (unknown.length > 0)
    observer.warning?.('targets.tenants names a tenant that is not granted, or was forgotten', {
      tenant_id: unknown,
      hint: 'Correct its id, or remove it from targets.tenants',
    })
}

/** Whether these are all lists of the configuration: a round over some of them knows nothing of the others. */
const isWhole = ({ tenants, resources }: CursorChoice, { sync }: Config): boolean =>
  (tenants === null || tenants === sync.tenants) && (resources === null || resources === sync.resources)

/** What the lists of all shards have, as far as one of them can tell. */
const roomOfAll = (
  { lists, windowAnHour }: Pick<ChoiceRules, 'windowAnHour'> & { readonly lists: number },
  { share }: Pick<WantedLists, 'share'>,
) =>
  share === 0
    ? { lists, windowAnHour: undefined }
    : {
        lists: Math.round(lists / share),
        windowAnHour: windowAnHour === undefined ? undefined : windowAnHour / share,
      }

/** The share of a round's time for polls if checks of deletions are due after them. */
const timeForPolls = 0.9

/** What a round leaves to its polls: all of it, unless checks of deletions follow. */
async function pollsOf(
  run: WritingRun,
  round: RoundNow,
  {
    wanted,
    settings,
    place,
  }: {
    readonly wanted: WantedLists
    readonly settings: FreshnessSettings
    readonly place: RoundPlace
  },
): Promise<Pick<RoundNow, 'budget' | 'endsAt'>> {
  const { now, budget, endsAt } = round
  if (!place.isBeforeChecks) return { budget, endsAt }
  const checks = await dueChecks(run, wanted, { now, settings, most: 0 })
  const { anHour, isLate } = checks.need
  const needed = anHour * lastsOf(round)
  return {
    budget: budget && budget - reservedForChecks(budget, { needed, isLate }),
    endsAt: needed > 0 ? now + timeForPolls * (endsAt - now) : endsAt,
  }
}

/** Time in hours. */
function rulesOf(
  settings: FreshnessSettings,
  round: RoundNow,
  {
    wanted: { tenants, resources, share },
    totals,
  }: {
    readonly wanted: WantedLists
    readonly totals: readonly ResourceTotals[]
  },
): Omit<ChoiceRules, 'budget'> & { readonly lists: number } {
  const { now, window, windowAnHour: perHour } = round
  const isWanted = new Set(resources.map(({ name }) => name))
  const unavailable = totals
    .filter(({ resource }) => isWanted.has(resource))
    .reduce((sum, total) => sum + total.unavailable, 0)
  const lists = Math.max(0, tenants.length * resources.length - Math.round(unavailable * share))
  return {
    lists,
    targetOf: (resource) => (settings.targetOf(resource, null) ?? settings.atLeast) / hourMs,
    meanOf: meanRates(totals),
    bound: boundOf(settings.atLeast / hourMs, { lists, windowAnHour: perHour }),
    windowAnHour: perHour,
    lasts: lastsOf(round),
    windowEndsIn: window && Math.max(0, window.resetsAt - now) / hourMs,
    turn: Math.floor(now / Math.max(1, lastsOf(round) * hourMs)),
  }
}

/* A round: when it ends, what the rate limit gives it, and which lists it may work on. */
import { Stop } from '../../engine/base/errors.js'
import { hasTenant } from '../../engine/base/shard.js'
import { type FreshnessSettings, freshnessSettings } from '../../engine/config/targetsection.js'
import type { Granted } from '../../engine/run/askauthorizations.js'
import { chooseAmongAll, chooseResources } from '../../engine/run/choosecursors.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { keepSeenLength } from '../../engine/run/windowlength.js'
import { rateOf as limitOf } from '../../engine/source/rate/knownrate.js'
import type { CommandContext, RoundPlace } from '../../shell/command.js'
import { budgetEnd, budgetOf, roundEnd, type WindowNow, windowAnHour } from './windowbudget.js'

const hourMs = 3_600_000

/** Throws Stop without targets: nothing is due then. */
export function settingsFor({
  config,
  invocation,
}: Pick<CommandContext, 'config' | 'invocation'>): FreshnessSettings {
  const settings = freshnessSettings(config)
  if (settings) return settings
  const what = invocation.command === 'sync' ? '--due' : '"due": true'
  throw new Stop(`Found ${what} but no targets in the configuration; expected targets`, {
    exitCode: 2,
    hint: `Add "targets": {"*": "PT6H"} to the configuration (docs/scale.md), or leave ${what} out`,
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
export interface RoundNow {
  readonly now: number
  readonly endsAt: number
  /** Until when the budget reaches. */
  readonly until: number
  /** Requests; undefined if no limit is known. */
  readonly budget: number | undefined
  readonly window: WindowNow | undefined
  readonly windowAnHour: number | undefined
}

/** `used`: requests that the round has already sent; `now`: when it began; `share`: its part of the rate limit. */
export async function roundOf(
  run: WritingRun,
  { next }: RoundPlace,
  {
    now,
    used,
    reserve,
    share,
  }: {
    readonly now: number
    readonly used: number
    readonly reserve: number
    readonly share: number
  },
): Promise<RoundNow> {
  const instants = next?.(now)
  const endsAt = roundEnd(now, { limit: run.endsAt, next: instants })
  const window = await windowNow(run)
  const until = window ? budgetEnd(now, { endsAt, resetsAt: window.resetsAt, next: instants }) : endsAt
  const begun = window && { ...window, remaining: Math.min(window.limit, window.remaining + used) }
  return {
    now,
    endsAt,
    until,
    window,
    budget: begun && Math.floor(budgetOf(begun, { now, until, reserve }) * share),
    windowAnHour: window && windowAnHour(window, reserve) * share,
  }
}

/** In hours, until its budget is over. */
export const lastsOf = ({ now, until }: Pick<RoundNow, 'now' | 'until'>): number =>
  Math.max(0, until - now) / hourMs

export const nowOf = ({ clock }: Pick<WritingRun, 'clock'>): number => Number(clock.nowMicros() / 1000n)

/**
 * The lists that a run may work on. `share`: how much of the lists that all shards together have; siblings are at work
 * under the same rate limit.
 */
export function wantedLists(run: WritingRun, choice: CursorChoice, granted: Granted) {
  const isGranted = new Set(granted.granted)
  const all = chooseAmongAll(run, choice, granted).filter((id) => isGranted.has(id))
  const { shard } = run
  const tenants = shard ? all.filter((id) => hasTenant(shard, id)) : all
  const share = all.length === 0 ? 1 : tenants.length / all.length
  return { resources: chooseResources(run, choice), tenants, share }
}

export type WantedLists = ReturnType<typeof wantedLists>

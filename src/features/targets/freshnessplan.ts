/*
 * What `plan` predicts: the share of the changes that can be in time under the rate limit, and what a higher limit
 * would achieve. And how fresh each resource was, for `status`.
 */
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Reader } from '../../engine/warehouse/cursors.js'
import { knownTenants } from '../../engine/warehouse/tenants.js'
import type { WantedCursors } from '../../engine/warehouse/wantedcursors.js'
import { type DueList, dueLists, nothingHeard } from './duelists.js'
import { boundOf, changeRate, meanRates } from './pollranking.js'
import { type ExpectedList, forecastShare, requestsForAll, requestsForShare } from './shareforecast.js'
import { delaysSince, oldestPolls } from './sql.js'
import { neededForBound } from './stretchedbound.js'

const hourMs = 3_600_000

/** The part of `plan`'s document about targets. */
export interface FreshnessPlan {
  readonly lists: number
  /**
   * Requests per hour needed to have 95%, or all, of the changes in time, whenever they come. Changes count in lists with
   * a target, requests in all lists: those without a target are polled within `polling.atLeast`.
   */
  readonly needed_for_most: number
  readonly needed_for_all: number
  /** Requests per hour that the rate limit allows; null if none is known. */
  readonly window: number | null
  /** Share of the changes, 0 to 1; null if no limit is known, or if no list has a target. */
  readonly share: number | null
  /** Those with a target. */
  readonly resources: readonly {
    readonly resource: string
    readonly target_seconds: number
    readonly share: number | null
  }[]
  readonly longest_wait_seconds: number
  /** Whether that is longer than `polling.atLeast`, because the rate limit isn't sufficient. */
  readonly stretched: boolean
  /** Requests per hour of which half suffices to poll every list within `polling.atLeast`. */
  readonly needed_for_bound: number
}

/** What `plan` calls most of the changes. */
export const mostChanges = 0.95

interface PlannedLists {
  readonly resources: readonly ResourceModel[]
  readonly isWanted: (tenantId: number | bigint) => boolean
  readonly nowMicros: bigint
  /** Requests per hour; undefined if no limit is known. */
  readonly window: number | undefined
}

/** The lists, with the changes expected in them. */
async function expectedLists(
  warehouse: Reader,
  settings: FreshnessSettings,
  { resources, isWanted, nowMicros }: PlannedLists,
): Promise<readonly ExpectedList[]> {
  const tenants = (await knownTenants(warehouse)).filter(
    ({ tenantId, revokedAt }) => revokedAt === null && isWanted(tenantId),
  )
  const targetOf = (resource: string): number => settings.targetOf(resource) ?? settings.atLeast
  const polled: DueList[] = []
  const unread = await dueLists(
    warehouse,
    { resources, tenants: tenants.map(({ tenantId }) => tenantId) },
    {
      ...{ heard: nothingHeard, now: fromMicros(nowMicros), atLeast: settings.atLeast, targetOf },
      take: (list) => void polled.push(list),
    },
  )
  const meanOf = meanRates(polled)
  const target = (resource: string): number => targetOf(resource) / hourMs
  return [
    ...polled.map((list) => ({
      resource: list.resource,
      rate: changeRate(list, meanOf(list.resource)),
      target: target(list.resource),
    })),
    ...unread.map(({ resource: { name } }) => ({
      resource: name,
      rate: meanOf(name),
      target: target(name),
    })),
  ]
}

export async function planFreshness(
  warehouse: Reader,
  settings: FreshnessSettings,
  planned: PlannedLists,
): Promise<FreshnessPlan> {
  const lists = await expectedLists(warehouse, settings, planned)
  const { window } = planned
  const atLeast = settings.atLeast / hourMs
  const bound = boundOf(atLeast, { lists: lists.length, windowAnHour: window })
  const isJudged = ({ resource }: ExpectedList): boolean => settings.targetOf(resource) !== undefined
  const judged = lists.filter(isJudged)
  const forecast = window === undefined ? undefined : forecastShare(lists, window, { bound })
  const share = (some: readonly ExpectedList[]): number | null => {
    if (!forecast || some.length === 0) return null
    const all = some.reduce((sum, { rate }) => sum + rate, 0)
    const met = some.reduce(
      (sum, { resource, rate }) => sum + rate * (forecast.byResource.get(resource) ?? 1),
      0,
    )
    return all === 0 ? 1 : met / all
  }
  const names = [...new Set(judged.map(({ resource }) => resource))]
  return {
    lists: lists.length,
    needed_for_most: Math.ceil(requestsForShare(lists, mostChanges, { bound: atLeast, isJudged })),
    needed_for_all: Math.ceil(requestsForAll(lists, { bound: atLeast })),
    window: window === undefined ? null : Math.floor(window),
    share: share(judged),
    resources: names
      .map((resource) => ({
        resource,
        target_seconds: (settings.targetOf(resource) ?? 0) / 1000,
        share: share(judged.filter((list) => list.resource === resource)),
      }))
      .toSorted((a, b) => a.target_seconds - b.target_seconds),
    longest_wait_seconds: Math.round(bound * 3600),
    stretched: bound > atLeast,
    needed_for_bound: neededForBound(lists.length, atLeast),
  }
}

/** How fresh a resource was: part of the document of `status`. */
export interface ResourceFreshnessStatus {
  readonly resource: string
  readonly target_seconds: number
  /** New and changed records of the last 24 hours that were stored within the target, and those stored later. */
  readonly met: number
  readonly missed: number
  /** The oldest last poll among the polled lists; null if there is none. */
  readonly oldest_poll_at: string | null
  readonly oldest_poll_seconds: number | null
}

const dayMicros = 86_400_000_000n

/** The hour of a moment. */
export const hourOf = (moment: string): string => `${moment.slice(0, 13)}:00:00.000000Z`

export async function readFreshness(
  warehouse: Reader,
  { targetOf }: Pick<FreshnessSettings, 'targetOf'>,
  { resources, tenants, exceptTenants, nowMicros }: WantedCursors & { readonly nowMicros: bigint },
): Promise<ResourceFreshnessStatus[]> {
  const now = fromMicros(nowMicros)
  const delays = new Map(
    (await delaysSince(warehouse, hourOf(fromMicros(nowMicros - dayMicros)))).map((row) => [
      row.resource,
      row,
    ]),
  )
  const oldest = await oldestPolls(warehouse, { resources, tenants, exceptTenants })
  const polls = new Map(oldest.map(({ resource, at }) => [resource, at]))
  return resources.flatMap((resource) => {
    const target = targetOf(resource)
    if (target === undefined) return []
    const { met = 0, missed = 0 } = delays.get(resource) ?? {}
    const at = polls.get(resource) ?? null
    const seconds = at === null ? null : Math.max(0, toMillis(now) - toMillis(at)) / 1000
    return [
      {
        resource,
        target_seconds: target / 1000,
        met,
        missed,
        oldest_poll_at: at,
        oldest_poll_seconds: seconds,
      },
    ]
  })
}

/*
 * What `plan` says beforehand: the share of the changes that the rate limit lets be in time, and what more of it would
 * bring. And how fresh each resource was, for `status`.
 */
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Reader } from '../../engine/warehouse/cursors.js'
import { knownTenants } from '../../engine/warehouse/tenants.js'
import { type DueList, dueLists, nothingHeard } from './duelists.js'
import { boundOf, changeRate, meanRates } from './pollranking.js'
import type { FreshnessSettings } from './settings.js'
import { type ExpectedList, forecastShare, requestsForAll, requestsForShare } from './shareforecast.js'
import { delaysSince, oldestPolls } from './sql.js'

const hourMs = 3_600_000

/** The part of the document of `plan` that speaks of targets. */
export interface FreshnessPlan {
  readonly lists: number
  /** Requests an hour that let so many changes be in time: 95 %, and all of them, whenever they come. */
  readonly needed_for_most: number
  readonly needed_for_all: number
  /** Requests an hour that the rate limit gives; null where none is known. */
  readonly window: number | null
  /** Of the changes, 0 to 1; null where no limit is known. */
  readonly share: number | null
  readonly resources: readonly {
    readonly resource: string
    readonly target_seconds: number
    readonly share: number | null
  }[]
  readonly longest_wait_seconds: number
  /** Whether that is longer than `polling.atLeast`, since the rate limit does not suffice for it. */
  readonly stretched: boolean
  /** Requests an hour of which half must suffice to poll every list within `polling.atLeast`. */
  readonly needed_for_bound: number
}

/** What `plan` calls most of the changes. */
export const mostChanges = 0.95

interface PlannedLists {
  readonly resources: readonly ResourceModel[]
  readonly isWanted: (tenantId: number | bigint) => boolean
  readonly nowMicros: bigint
  /** Requests an hour; undefined where no limit is known. */
  readonly window: number | undefined
}

/** The lists, with the changes that are expected of them. */
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
      ...{ heard: nothingHeard, now: fromMicros(nowMicros), targetOf },
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
  const judged = lists.filter(({ resource }) => settings.targetOf(resource) !== undefined)
  const forecast = window === undefined ? undefined : forecastShare(lists, window, { bound })
  const share = (some: readonly ExpectedList[]): number | null => {
    if (!forecast) return null
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
    needed_for_most: Math.ceil(requestsForShare(lists, mostChanges, { bound: atLeast })),
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
    needed_for_bound: Math.ceil((2 * lists.length) / atLeast),
  }
}

/** How fresh a resource was: a part of the document of `status`. */
export interface ResourceFreshnessStatus {
  readonly resource: string
  readonly target_seconds: number
  /** New and changed records of the last 24 hours that were stored within the target, and later. */
  readonly met: number
  readonly missed: number
  /** The poll that is the longest ago, of the lists that were polled; null where none was. */
  readonly oldest_poll_at: string | null
  readonly oldest_poll_seconds: number | null
}

const dayMicros = 86_400_000_000n

/** The hour in which a moment lies. */
export const hourOf = (moment: string): string => `${moment.slice(0, 13)}:00:00.000000Z`

export async function readFreshness(
  warehouse: Reader,
  { targetOf }: Pick<FreshnessSettings, 'targetOf'>,
  { resources, nowMicros }: { readonly resources: readonly string[]; readonly nowMicros: bigint },
): Promise<ResourceFreshnessStatus[]> {
  const now = fromMicros(nowMicros)
  const delays = new Map(
    (await delaysSince(warehouse, hourOf(fromMicros(nowMicros - dayMicros)))).map((row) => [
      row.resource,
      row,
    ]),
  )
  const polls = new Map((await oldestPolls(warehouse)).map(({ resource, at }) => [resource, at]))
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

/*
 * What `plan` predicts: the share of the changes that can be in time under the rate limit, and what a higher limit
 * would achieve. And how fresh each resource was, for `status`.
 */

import type { Int64 } from '../../../schema/resource.js'
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { type FreshnessSettings, timesOf } from '../../engine/config/targetsection.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Reader } from '../../engine/warehouse/database.js'
import { listCursors, type WantedCursors } from '../../engine/warehouse/state/cursors.js'
import { knownTenants } from '../../engine/warehouse/state/tenants.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { delaysSince } from './delays.js'
import { type DueList, dueLists, nothingHeard } from './duelists.js'
import { boundOf, changeRate, meanRates } from './pollranking.js'
import { type ExpectedList, forecastShare, requestsForAll, requestsForShare } from './shareforecast.js'
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
  /** Those with a target. A tenant with a target of its own is apart from the others. */
  readonly resources: readonly {
    readonly resource: string
    readonly tenant_id?: Int64 | undefined
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
  const polled: DueList[] = []
  const unread = await dueLists(
    warehouse,
    { resources, tenants: tenants.map(({ tenantId }) => tenantId) },
    {
      heard: nothingHeard,
      now: fromMicros(nowMicros),
      atLeast: settings.atLeast,
      targetOf: timesOf(settings),
      take: (list) => void polled.push(list),
    },
  )
  const meanOf = meanRates(polled)
  const expected = (tenantId: Int64, resource: string, rate: number): ExpectedList => ({
    resource,
    rate,
    target: timesOf(settings)(resource, tenantId) / hourMs,
    tenantId: settings.own?.targetOf(resource, tenantId) !== undefined ? tenantId : undefined,
  })
  return [
    ...polled.map((list) =>
      expected(list.task.tenantId, list.resource, changeRate(list, meanOf(list.resource))),
    ),
    ...unread.map(({ tenantId, resource: { name } }) => expected(tenantId, name, meanOf(name))),
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
  const isJudged = ({ resource, tenantId }: ExpectedList): boolean =>
    settings.targetOf(resource, tenantId ?? null) !== undefined
  const judged = lists.filter(isJudged)
  const forecast = window === undefined ? undefined : forecastShare(lists, window, { bound })
  const share = (some: readonly ExpectedList[]): number | null => {
    return forecast && some.length > 0 ? forecast.shareOf(some) : null
  }
  const groups = new Map<string, ExpectedList[]>()
  for (const list of judged) {
    const name = `${list.resource} ${list.tenantId ?? ''}`
    const group = groups.get(name)
    if (group) group.push(list)
    else groups.set(name, [list])
  }
  return {
    lists: lists.length,
    needed_for_most: Math.ceil(requestsForShare(lists, mostChanges, { bound: atLeast, isJudged })),
    needed_for_all: Math.ceil(requestsForAll(lists, { bound: atLeast })),
    window: window === undefined ? null : Math.floor(window),
    share: share(judged),
    resources: [...groups.values()]
      .flatMap((group) => {
        const [one] = group
        if (!one) return []
        const { resource, tenantId, target } = one
        const whose = tenantId === undefined ? {} : { tenant_id: tenantId }
        return [{ resource, ...whose, target_seconds: Math.round(target * 3600), share: share(group) }]
      })
      .toSorted((a, b) => a.target_seconds - b.target_seconds),
    longest_wait_seconds: Math.round(bound * 3600),
    stretched: bound > atLeast,
    needed_for_bound: neededForBound(lists.length, atLeast),
  }
}

/** How fresh a resource was: part of the document of `status`. */
export interface ResourceFreshnessStatus {
  readonly resource: string
  /** Only that tenant's list, which has a target of its own. Absent: the lists of all tenants without one. */
  readonly tenant_id?: Int64 | undefined
  readonly target_seconds: number
  /** New and changed records of the last 24 hours that were stored within the target, and those stored later. */
  readonly met: number
  readonly missed: number
  /** The oldest last poll among the polled lists; null if there is none. */
  readonly oldest_poll_at: string | null
  readonly oldest_poll_seconds: number | null
}

const dayMicros = 86_400_000_000n

export const hourOf = (moment: string): string => `${moment.slice(0, 13)}:00:00.000000Z`

/** A resource, or a tenant's list with a target of its own. */
const nameOf = (resource: string, tenantId?: Int64): string => `${resource} ${tenantId ?? ''}`

/** Resources whose tenants all have targets of their own, as where one tenant is asked for, are left out. */
export async function readFreshness(
  warehouse: Pick<Warehouse, 'has' | 'read'>,
  { targetOf, own }: Pick<FreshnessSettings, 'targetOf' | 'own'>,
  wanted: WantedCursors & { readonly nowMicros: bigint },
): Promise<ResourceFreshnessStatus[]> {
  const { resources, tenants, nowMicros } = wanted
  const now = fromMicros(nowMicros)
  const counted = await delaysSince(warehouse, hourOf(fromMicros(nowMicros - dayMicros)))
  const delays = new Map(counted.map((row) => [nameOf(row.resource, row.tenant_id), row]))
  const polls = await pollsOf(warehouse, own, wanted)
  const entry = (resource: string, target: number, tenantId?: Int64): ResourceFreshnessStatus => {
    const { met = 0, missed = 0 } = delays.get(nameOf(resource, tenantId)) ?? {}
    const at = polls.get(nameOf(resource, tenantId)) ?? null
    return {
      resource,
      tenant_id: tenantId,
      target_seconds: target / 1000,
      met,
      missed,
      oldest_poll_at: at,
      oldest_poll_seconds: at === null ? null : Math.max(0, toMillis(now) - toMillis(at)) / 1000,
    }
  }
  const special = own?.tenants.filter((id) => tenants?.includes(id) ?? true) ?? []
  return resources.flatMap((resource) => {
    const others = targetOf(resource, null)
    const theirs = special.flatMap((tenantId) => {
      const target = polls.has(nameOf(resource, tenantId)) ? own?.targetOf(resource, tenantId) : undefined
      return target === undefined ? [] : [entry(resource, target, tenantId)]
    })
    const isAlone = tenants?.every((id) => own?.targetOf(resource, id) !== undefined) ?? false
    return others === undefined || (isAlone && theirs.length > 0)
      ? theirs
      : [entry(resource, others), ...theirs]
  })
}

/** The oldest last poll of each resource, and of each list with a target of its own. */
async function pollsOf(
  warehouse: Reader,
  own: FreshnessSettings['own'],
  wanted: WantedCursors,
): Promise<ReadonlyMap<string, string | null>> {
  const polls = new Map<string, string | null>()
  for (const { tenant_id, resource, status, polled_at: at } of await listCursors(
    warehouse,
    ['status', 'polled_at'],
    { wanted },
  )) {
    // What the source doesn't offer isn't polled.
    if (status === 'unavailable') continue
    const isOwn = own?.targetOf(resource, tenant_id) !== undefined
    const name = nameOf(resource, isOwn ? tenant_id : undefined)
    const known = polls.get(name) ?? null
    polls.set(name, known !== null && (at === null || known < at) ? known : at)
  }
  return polls
}

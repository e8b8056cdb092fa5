/* How far the data of some tenants can be trusted, from the rows of `freshness` and `totals_check`. */
import type { Int64 } from '../../../../schema/resource.js'
import { count, isOlderThan } from '../../../engine/base/format.js'
import { fromMicros, toMicros } from '../../../engine/base/timestamp.js'
import { sourceLabel } from '../../../engine/warehouse/sourceidentity.js'
import type { BelongsTo } from '../../health/belongsto.js'
import type { Incident } from '../../health/incident.js'
import type { TrustAnswer, VerdictShown } from '../data.js'
import type { ResourceFreshness } from '../operationsdata.js'
import type { FreshnessRow } from './asktrust.js'
import type { Findings } from './findings.js'
import { groupedBy, numberFrom } from './reportdays.js'

/** When old data is stale, and what else the figures depend on. */
export interface StaleRule {
  readonly nowMicros: bigint
  readonly staleAfterMs: number
  /** For how long a run has been at work; null if none is. */
  readonly runningMs: number | null
  readonly deletesUncheckedAfterMs: number
  readonly incidents: readonly Incident[]
  readonly belongsTo: BelongsTo | null
  /** Resources whose rows are in the figures. */
  readonly restsOn: ReadonlySet<string>
  /** Resources that are synced, and tenants that aren't: a list that no run has begun has no row. */
  readonly synced: readonly string[]
  readonly exceptTenants: readonly Int64[]
}

/** An instant in canonical form: SQLite views show instants with a space, as tools like them. */
const instantShown = (instant: string | null): string | null =>
  instant === null || instant.endsWith('Z') ? instant : `${instant.replace(' ', 'T')}Z`

/** Lists that are walked: those of granted tenants and of resources that the API offers. */
export const isWalked = ({ revoked, status }: FreshnessRow): boolean =>
  !numberFrom(revoked) && status !== 'unavailable'

const shown: readonly VerdictShown[] = ['proven', 'repaired', 'listed', 'unproven']

function verdictsOf(rows: readonly FreshnessRow[]): Record<VerdictShown, number> {
  const verdicts = { proven: 0, repaired: 0, listed: 0, unproven: 0, none: 0 }
  for (const { verdict } of rows) verdicts[shown.find((known) => known === verdict) ?? 'none']++
  return verdicts
}

/** The earliest row by an instant; rows without one come before all others. */
function oldestBy(
  rows: readonly FreshnessRow[],
  of: (row: FreshnessRow) => string | null,
): FreshnessRow | undefined {
  return rows.reduce<FreshnessRow | undefined>(
    (oldest, row) => (oldest === undefined || (of(row) ?? '') < (of(oldest) ?? '') ? row : oldest),
    undefined,
  )
}

/** The lists among these that are being read completely once. */
function refillsOf(walked: readonly FreshnessRow[], refills: Findings['refills']): TrustAnswer['refilling'] {
  const names = new Set(walked.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`))
  const open = refills.filter(({ tenant_id, resource }) => names.has(`${tenant_id} ${resource}`))
  const begun = open.filter(({ of }) => of !== null)
  const sum = (of: (refill: (typeof open)[number]) => number | null): number =>
    begun.reduce((all, refill) => all + (of(refill) ?? 0), 0)
  return { lists: open.length, begun: begun.length, read: sum(({ read }) => read), of: sum(({ of }) => of) }
}

const mostNamed = 3

/** Each kind of incident, and which lists have it. */
function kindsOf(open: readonly Incident[]): string[] {
  return [...groupedBy(open, ({ kind }) => kind)].map(([kind, incidents]) => {
    const lists = [...new Set(incidents.flatMap(({ resource }) => resource ?? []))].sort()
    const more = lists.length - mostNamed
    const named = [...lists.slice(0, mostNamed), ...(more > 0 ? [`${count(more)} more`] : [])]
    return named.length === 0 ? kind : `${kind}: ${named.join(', ')}`
  })
}

/** How many lists behind the figures no run has begun to read. */
function unreadLists(all: readonly FreshnessRow[], { restsOn, synced, exceptTenants }: StaleRule): number {
  const begun = new Set(all.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`))
  const except = new Set(exceptTenants.map(String))
  const granted = new Set(
    all.flatMap(({ tenant_id, revoked }) => (numberFrom(revoked) ? [] : String(tenant_id))),
  )
  const wanted = synced.filter((resource) => restsOn.has(resource))
  return [...granted]
    .filter((tenant) => !except.has(tenant))
    .reduce((sum, tenant) => sum + wanted.filter((resource) => !begun.has(`${tenant} ${resource}`)).length, 0)
}

export function trustIn(
  { freshness: all, refills, totals, payments }: Findings,
  rule: StaleRule,
): TrustAnswer {
  const { nowMicros, staleAfterMs, runningMs, deletesUncheckedAfterMs, incidents, belongsTo, restsOn } = rule
  const freshness = all.filter(({ resource }) => restsOn.has(resource ?? ''))
  const walked = freshness.filter(isWalked)
  const tenants = new Set(all.map(({ tenant_id }) => String(tenant_id)))
  const open = incidents.filter(({ tenant_id }) => tenant_id === null || tenants.has(String(tenant_id)))
  const isUnchecked = ({ deletes_checked_at }: FreshnessRow): boolean => {
    const at = instantShown(deletes_checked_at)
    return at === null || isOlderThan(at, nowMicros, deletesUncheckedAfterMs)
  }
  const oldest = oldestBy(walked, (row) => row.complete_through)
  const checked = oldestBy(
    walked.filter(({ deletes_checked_at }) => deletes_checked_at !== null),
    (row) => row.deletes_checked_at,
  )
  const unread = unreadLists(all, rule)
  const verdicts = verdictsOf(walked)
  const completeThrough = unread > 0 ? null : instantShown(oldest?.complete_through ?? null)
  const sum = (of: (row: Findings['totals'][number]) => unknown): number =>
    totals.reduce((all, row) => all + numberFrom(of(row)), 0)
  return {
    foreign:
      belongsTo?.configured === false
        ? sourceLabel({ baseUrl: belongsTo.base_url, partnerId: belongsTo.partner_id })
        : null,
    lists: walked.length + unread,
    verdicts: { ...verdicts, none: verdicts.none + unread },
    failing: walked.filter(({ status }) => status === 'failed').length,
    isLoading: runningMs !== null,
    refilling: refillsOf(walked, refills),
    unavailable: freshness.filter((row) => !numberFrom(row.revoked) && !isWalked(row)).length,
    completeThrough,
    isStale:
      completeThrough !== null &&
      isOlderThan(completeThrough, nowMicros, Math.max(staleAfterMs, runningMs ?? 0)),
    oldest: oldest ? { tenant: oldest.tenant_name ?? '', resource: oldest.resource ?? '' } : null,
    deletesCheckedAt: instantShown(checked?.deletes_checked_at ?? null),
    deletesUnchecked: walked.filter(isUnchecked).length,
    revoked: [
      ...new Set(all.filter((row) => numberFrom(row.revoked)).map(({ tenant_name }) => tenant_name ?? '')),
    ],
    incidents: { open: open.length, kinds: kindsOf(open) },
    quarantined: freshness.reduce((sum, row) => sum + numberFrom(row.quarantined), 0),
    payments: {
      orders: payments.reduce((sum, row) => sum + numberFrom(row.orders), 0),
      differ: payments.reduce((sum, row) => sum + numberFrom(row.differ), 0),
      differenceCents: payments.reduce((sum, row) => sum + numberFrom(row.difference), 0),
    },
    totals: {
      invoices: sum((row) => row.invoices),
      unpaid: sum((row) => row.unpaid),
      unknown: sum((row) => row.unknown),
      equal: sum((row) => row.equal),
      rounding: sum((row) => row.rounding),
      more: sum((row) => row.more),
    },
  }
}

/** In the latest time zone on earth, a day ends this long after it ends in UTC. */
const latestZoneMicros = 43_200_000_000n

/** The newest day that the data reaches. A tenant that is behind is shown separately and doesn't hold up the others. */
export function completeDay(freshness: readonly FreshnessRow[], nowMicros: bigint): string {
  const instants = freshness.filter(isWalked).flatMap((row) => instantShown(row.complete_through) ?? [])
  const newest = instants.sort().at(-1)
  return fromMicros((newest === undefined ? nowMicros : toMicros(newest)) - latestZoneMicros).slice(0, 10)
}

/** Freshness by resource. */
export function byResource(freshness: readonly FreshnessRow[]): ResourceFreshness[] {
  const groups = groupedBy(freshness.filter(isWalked), ({ resource }) => resource ?? '')
  return [...groups]
    .map(([resource, rows]) => ({
      resource,
      tenants: rows.length,
      completeThrough: instantShown(oldestBy(rows, (row) => row.complete_through)?.complete_through ?? null),
      deletesCheckedAt: instantShown(
        oldestBy(rows, (row) => row.deletes_checked_at)?.deletes_checked_at ?? null,
      ),
      verdicts: verdictsOf(rows),
      liveRows: rows.reduce((all, row) => all + numberFrom(row.live_rows), 0),
      quarantined: rows.reduce((all, row) => all + numberFrom(row.quarantined), 0),
    }))
    .sort((a, b) => a.resource.localeCompare(b.resource, 'en'))
}

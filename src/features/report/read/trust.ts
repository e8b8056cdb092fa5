/* How far the data of some tenants can be trusted, from the health of its lists and the rows of `totals_check`. */
import { count, isOlderThan } from '../../../engine/base/format.js'
import { groupedBy } from '../../../engine/base/parts.js'
import { sourceLabel } from '../../../engine/warehouse/state/sourceidentity.js'
import type { BelongsTo } from '../../../shell/belongingwords.js'
import { type HealthRule, lateWords } from '../../health/cursorhealth.js'
import type { Incident } from '../../health/incident.js'
import type { TrustAnswer, VerdictShown } from '../data.js'
import type { OperationsData, ResourceFreshness } from '../operationsdata.js'
import type { ListHealth } from './asktrust.js'
import type { Findings } from './findings.js'
import { numberFrom } from './reportdays.js'
import type { ShopClock } from './shopclock.js'

/** When a list needs attention, and what else the figures depend on. */
export interface TrustRule extends HealthRule {
  readonly incidents: readonly Incident[]
  readonly belongsTo: BelongsTo | null
  /** Resources whose rows are in the figures. */
  readonly restsOn: ReadonlySet<string>
}

/** Lists that are walked: those of granted tenants and of resources that the API offers. */
export const isWalked = ({ state }: ListHealth): boolean => state !== 'revoked' && state !== 'unavailable'

/** Whether the lists behind the figures have been read completely. */
export const isProven = (lists: readonly ListHealth[], restsOn: ReadonlySet<string>): boolean =>
  lists.every(
    (list) =>
      !restsOn.has(list.resource) ||
      !isWalked(list) ||
      list.completeness === 'proven' ||
      list.completeness === 'repaired',
  )

const shown: readonly VerdictShown[] = ['proven', 'repaired', 'listed', 'unproven']

function verdictsOf(rows: readonly ListHealth[]): Record<VerdictShown, number> {
  const verdicts = { proven: 0, repaired: 0, listed: 0, unproven: 0, none: 0 }
  for (const { completeness } of rows) verdicts[shown.find((known) => known === completeness) ?? 'none']++
  return verdicts
}

/** The earliest row by an instant; rows without one come before all others. */
function oldestBy(
  rows: readonly ListHealth[],
  of: (row: ListHealth) => string | null,
): ListHealth | undefined {
  return rows.reduce<ListHealth | undefined>(
    (oldest, row) => (oldest === undefined || (of(row) ?? '') < (of(oldest) ?? '') ? row : oldest),
    undefined,
  )
}

/** When the list that has waited longest was last read completely; null if one never was. */
export const oldestRead = (lists: readonly ListHealth[]): string | null =>
  oldestBy(lists.filter(isWalked), (row) => row.last_success_at)?.last_success_at ?? null

/** The lists among these that are being read completely once. */
function refillsOf(walked: readonly ListHealth[]): TrustAnswer['refilling'] {
  const begun = walked.flatMap(({ refill_progress }) => refill_progress ?? [])
  return {
    lists: walked.filter(({ refill }) => refill !== null).length,
    begun: begun.length,
    read: begun.reduce((all, { read }) => all + read, 0),
    of: begun.reduce((all, { of }) => all + of, 0),
  }
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

export function trustIn(
  { lists: all, unread: neverRead, totals, payments }: Findings,
  rule: TrustRule,
): TrustAnswer {
  const { nowMicros, staleAfterMs, runningMs, incidents, belongsTo, restsOn } = rule
  const lists = all.filter(({ resource }) => restsOn.has(resource))
  const walked = lists.filter(isWalked)
  const tenants = new Set(all.map(({ tenant_id }) => String(tenant_id)))
  const open = incidents.filter(({ tenant_id }) => tenant_id === null || tenants.has(String(tenant_id)))
  const oldest = oldestBy(walked, (row) => row.complete_through)
  const checked = oldestBy(
    walked.filter(({ deletes_checked_at }) => deletes_checked_at !== null),
    (row) => row.deletes_checked_at,
  )
  const unread = neverRead.filter(({ resource }) => restsOn.has(resource)).length
  const verdicts = verdictsOf(walked)
  const completeThrough = unread > 0 ? null : (oldest?.complete_through ?? null)
  const sum = (of: (row: Findings['totals'][number]) => unknown): number =>
    totals.reduce((all, row) => all + numberFrom(of(row)), 0)
  return {
    foreign:
      belongsTo?.configured === false
        ? sourceLabel({ baseUrl: belongsTo.base_url, partnerId: belongsTo.partner_id })
        : null,
    lists: walked.length + unread,
    verdicts: { ...verdicts, none: verdicts.none + unread },
    failing: walked.filter(({ state }) => state === 'failed').length,
    isLoading: runningMs !== null,
    refilling: refillsOf(walked),
    unavailable: lists.filter(({ state }) => state === 'unavailable').length,
    completeThrough,
    isStale:
      completeThrough !== null &&
      walked.some(
        ({ last_success_at: last }) =>
          last !== null && isOlderThan(last, nowMicros, Math.max(staleAfterMs, runningMs ?? 0)),
      ),
    late: lateWords(all),
    oldest: oldest ? { tenant: oldest.tenant_name, resource: oldest.resource } : null,
    deletesCheckedAt: checked?.deletes_checked_at ?? null,
    deletesUnchecked: walked.filter(
      ({ deletes_checked_at, deletes_unchecked }) => deletes_checked_at === null || deletes_unchecked,
    ).length,
    revoked: [
      ...new Set(all.filter(({ state }) => state === 'revoked').map(({ tenant_name }) => tenant_name)),
    ],
    incidents: { open: open.length, kinds: kindsOf(open) },
    quarantined: lists.reduce((all, row) => all + row.quarantined, 0),
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

/**
 * The newest day that the data reaches: all days before it are over in every shop. A tenant that is behind is shown
 * separately and doesn't hold up the others.
 */
export function completeDay(lists: readonly ListHealth[], clocks: ShopClock, now: string): string {
  const instants = lists.filter(isWalked).flatMap((row) => row.complete_through ?? [])
  return clocks.dayOf(instants.sort().at(-1) ?? now)
}

export function byResource(lists: readonly ListHealth[]): ResourceFreshness[] {
  const groups = groupedBy(lists.filter(isWalked), ({ resource }) => resource)
  return [...groups]
    .map(([resource, rows]) => ({
      resource,
      tenants: rows.length,
      completeThrough: oldestBy(rows, (row) => row.complete_through)?.complete_through ?? null,
      deletesCheckedAt: oldestBy(rows, (row) => row.deletes_checked_at)?.deletes_checked_at ?? null,
      verdicts: verdictsOf(rows),
      liveRows: rows.reduce((all, row) => all + Number(row.rows), 0),
      quarantined: rows.reduce((all, row) => all + row.quarantined, 0),
    }))
    .sort((a, b) => a.resource.localeCompare(b.resource, 'en'))
}

/** With more of them, the page shows the worst. */
const worstShown = 10

/** The tenants whose lists fail, are unproven or stale. */
export function troubledTenants(lists: readonly ListHealth[]): OperationsData['troubled'] {
  const groups = groupedBy(lists.filter(isWalked), ({ tenant_id }) => String(tenant_id))
  const lines = [...groups.values()].flatMap((rows) => {
    const inState = (state: ListHealth['state']): number => rows.filter((row) => row.state === state).length
    const oldest = oldestBy(rows, (row) => row.complete_through)
    const line = {
      tenant: oldest?.tenant_name ?? '',
      lists: rows.length,
      failing: inState('failed'),
      unproven: inState('unproven'),
      stale: inState('stale') + inState('never'),
      completeThrough: oldest?.complete_through ?? null,
    }
    return line.failing + line.unproven + line.stale > 0 ? [line] : []
  })
  const rank = (line: (typeof lines)[number]): number => 1e6 * line.failing + 1e3 * line.unproven + line.stale
  const worst = lines.sort((a, b) => rank(b) - rank(a) || (a.tenant < b.tenant ? -1 : 1)).slice(0, worstShown)
  return { all: lines.length, worst }
}

/* All tenants together, and each of them where there are few: what the page shows of whom. Used by read.ts. */
import type { NamedOrder, ReportData, ReportMonth, ReportScope, TenantLine } from '../data.js'
import type { FreshnessRow } from './asktrust.js'
import { askLateOrders, askOverdueOrders } from './askwork.js'
import { byTenant, type Findings } from './findings.js'
import { foldedScope, monthNumbers, needsOf, noNumbers, type ShopNames } from './fold.js'
import { monthsLater, numberFrom, type Subject } from './reportdays.js'
import { completeDay, isWalked, type StaleRule, trustIn } from './trust.js'

/** With more tenants than this, the page compares them, and leaves the figures of one to --tenant. */
const mostScopes = 6

/** What all scopes of a report share. */
export interface Scene extends StaleRule {
  readonly months: readonly ReportMonth[]
  readonly lastMonth: number | null
  readonly last: string
}

export async function tenantsAndScopes(
  subject: Subject,
  findings: Findings,
  scene: Scene,
): Promise<Pick<ReportData, 'scopes' | 'tenants'>> {
  const groups = [...byTenant(findings)].filter(([, of]) => of.freshness.length > 0)
  const [only, ...others] = groups
  if (only === undefined) return { scopes: [], tenants: [] }
  if (others.length === 0) return { scopes: [await scopeOf(subject, findings, scene, only[0])], tenants: [] }
  const lines = groups.map(([id, of]) => tenantLine(id, of, scene))
  const tenants = lines.sort(
    (a, b) => b.last.salesCents - a.last.salesCents || a.name.localeCompare(b.name, 'en'),
  )
  const scopes = [await scopeOf(subject, findings, scene, null)]
  if (groups.length <= mostScopes)
    for (const { id } of tenants) {
      const of = groups.find(([tenant]) => tenant === id)?.[1]
      if (of) scopes.push(await scopeOf(subject, of, scene, id))
    }
  return { scopes, tenants }
}

const tenantName = ({ freshness }: Findings, id: string): string =>
  freshness[0]?.tenant_name ?? `tenant ${id}`

/** Among the shops of several tenants, a shop is told with its tenant, unless its name says it already. */
const shopName = (shop: string, tenant: string): string =>
  tenant === '' || shop.includes(tenant) ? shop : `${shop} · ${tenant}`

/** `id`: null for all tenants together. */
async function scopeOf(
  subject: Subject,
  findings: Findings,
  { months, last, ...freshness }: Scene,
  id: string | null,
): Promise<ReportScope> {
  const ids = id === null ? subject.tenants : [findings.freshness[0]?.tenant_id ?? 0]
  const groups = byTenant(findings)
  const nameOf: ShopNames = (row) =>
    shopName(row?.shop_name ?? '–', id === null ? (row?.tenant_name ?? '') : '')
  const folded = foldedScope(findings, months, last, nameOf)
  const lateOrders = (await askLateOrders({ ...subject, tenants: ids })).map(
    ({ minutes_open, sales_cents, ...order }): NamedOrder =>
      named(order, Math.floor(numberFrom(minutes_open) / 1440), sales_cents),
  )
  const overdueOrders = (await askOverdueOrders({ ...subject, tenants: ids })).map(
    ({ days, balance_cents, ...order }): NamedOrder => named(order, numberFrom(days), balance_cents),
  )
  const behind = [...groups.values()].filter((of) => isBehind(of, last, freshness.nowMicros)).length
  return {
    id: id ?? 'all',
    title: id === null ? `All ${groups.size} businesses` : tenantName(findings, id),
    shops: folded.byShop.length,
    trust: trustIn(findings, freshness),
    behind,
    ...folded,
    needs: { ...folded.needs, lateOrders, overdueOrders },
  }
}

interface OrderNames {
  readonly number: unknown
  readonly shop_name: string | null
  readonly customer_name: string | null
}

const named = (
  { number, shop_name, customer_name }: OrderNames,
  days: number,
  cents: unknown,
): NamedOrder => ({
  number: String(number ?? '–'),
  shop: shop_name ?? '–',
  customer: customer_name ?? '–',
  days,
  cents: cents === null ? null : numberFrom(cents),
})

/** Whether a tenant's data ends before the month that is told as the last one does. */
function isBehind({ freshness }: Findings, last: string, nowMicros: bigint): boolean {
  const walked = freshness.filter(isWalked)
  if (walked.some(({ complete_through }) => complete_through === null)) return true
  return walked.length > 0 && oldestDay(walked, nowMicros) < `${monthsLater(last, 1)}-01`
}

const oldestDay = (rows: readonly FreshnessRow[], nowMicros: bigint): string =>
  rows.map((row) => completeDay([row], nowMicros)).sort()[0] ?? ''

function tenantLine(id: string, findings: Findings, { months, lastMonth, ...freshness }: Scene): TenantLine {
  const at = lastMonth ?? months.length - 1
  const numbers = monthNumbers(findings, months)
  const needs = needsOf(findings)
  return {
    id,
    name: tenantName(findings, id),
    trust: trustIn(findings, freshness),
    last: numbers[at] ?? noNumbers,
    before: months[at - 1]?.isPartial === false ? (numbers[at - 1] ?? null) : null,
    late: needs.late.orders,
    overdueCents: needs.overdue.cents,
  }
}

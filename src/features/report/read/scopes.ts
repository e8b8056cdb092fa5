/*
 * All tenants together; each of them and each shop, if there are few: whom the page shows, and what. Used by read.ts.
 */
import sales from '../../../../schema/figures/sales_cents.js'
import { figureAmount, noAmounts } from '../amounts.js'
import type { NamedOrder, ReportData, ReportMonth, ReportScope, TenantLine } from '../data.js'
import type { ListHealth } from './asktrust.js'
import { askLateOrders, askOverdueOrders, byTenant, type Findings, type Part, partOf } from './findings.js'
import {
  adviceByMonth,
  cyclesOf,
  figuresOf,
  firstMonthOf,
  monthAmounts,
  needsOf,
  paceOf,
  receivablesOf,
  type ShopNames,
  shopsOf,
  standingsOf,
} from './fold.js'
import { comparisonsOf, periodAmounts, periodAnswer } from './foldperiod.js'
import type { FigureRows } from './gather.js'
import { groupedBy, isOpenSince, monthsLater, numberFrom, type Subject } from './reportdays.js'
import { completeDay, isWalked, type TrustRule, trustIn } from './trust.js'

/** With more tenants than this, the page compares them, and --tenant shows the figures of one. */
const mostTenants = 6
/** With more shops than this, only tenants can be selected. */
const mostShops = 12

/** What all scopes of a report share. */
interface Scene extends TrustRule {
  readonly subject: Subject
  readonly findings: Findings
  readonly rows: FigureRows
  readonly months: readonly ReportMonth[]
  readonly last: string
  /** All days before it are complete. */
  readonly completeDay: string
}

export async function tenantsAndScopes(scene: Scene): Promise<Pick<ReportData, 'scopes' | 'tenants'>> {
  const { lists: all, shops } = scene.findings
  const ids = [...groupedBy(all, ({ tenant_id }) => String(tenant_id)).keys()]
  const [only] = ids
  if (only === undefined) return { scopes: [], tenants: [] }
  const groups = byTenant(scene.findings)
  const lines = ids
    .map((id) => tenantLine(scene, id, groups.get(id) ?? scene.findings))
    .sort((a, b) => salesOf(b) - salesOf(a) || a.name.localeCompare(b.name, 'en'))
  const parts: Part[] = ids.length === 1 ? [] : [{}]
  if (ids.length <= mostTenants)
    for (const { id } of lines) {
      parts.push({ tenant: id })
      const own = shops.filter(({ tenant_id, first_day }) => String(tenant_id) === id && first_day !== null)
      // A single shop with invoices is the same as its business.
      if (own.length > 1 && shops.length <= mostShops)
        parts.push(...own.flatMap(({ shop_key }) => (shop_key ? [{ tenant: id, shop: shop_key }] : [])))
    }
  const scopes: ReportScope[] = []
  for (const part of parts) scopes.push(await scopeOf(scene, part))
  return { scopes, tenants: ids.length === 1 ? [] : lines }
}

const salesOf = ({ amounts }: TenantLine): number => figureAmount(amounts, sales) ?? 0

const tenantName = ({ lists }: Findings, id: string): string =>
  lists.find(({ tenant_id }) => String(tenant_id) === id)?.tenant_name ?? `tenant ${id}`

/** Among the shops of several tenants, a shop is shown with its tenant, unless its name already contains it. */
const shopNames =
  ({ shops }: Findings, withTenant: boolean): ShopNames =>
  (key) => {
    const shop = shops.find(({ shop_key }) => key !== null && shop_key === key)
    const [name, tenant] = [shop?.shop_name ?? 'no shop', shop?.tenant_name ?? '']
    return !withTenant || tenant === '' || name.includes(tenant) ? name : `${name} · ${tenant}`
  }

const titleOf = (all: Findings, { tenant, shop }: Part): string => {
  if (tenant === undefined)
    return `All ${new Set(all.lists.map((row) => String(row.tenant_id))).size} businesses`
  return shop === undefined ? tenantName(all, tenant) : shopNames(all, true)(shop)
}

/** The first month of the scope's own data may be partial where that of others isn't. Those before it have no data. */
function spanOf(months: readonly ReportMonth[], { shops }: Findings): ReportMonth[] {
  const [first] = shops.flatMap(({ first_day }) => first_day ?? []).sort()
  const cut = first !== undefined && !isOpenSince(first, `${first.slice(0, 7)}-01`) ? first.slice(0, 7) : ''
  const isBefore = (month: string): boolean => first !== undefined && month < first.slice(0, 7)
  return months.map(({ month, isPartial }) => ({
    month,
    isPartial: !isBefore(month) && (isPartial || month === cut),
  }))
}

async function scopeOf(scene: Scene, part: Part): Promise<ReportScope> {
  const { subject, findings: all, rows, months, completeDay: until } = scene
  const findings = partOf(all, part)
  const { lists, shops } = findings
  const tenants = part.tenant === undefined ? subject.tenants : [lists[0]?.tenant_id ?? 0]
  const nameOf = shopNames(all, part.tenant === undefined)
  const orders = { ...subject, tenants }
  const place = { part, shops, beginning: firstMonthOf(figuresOf(rows.months, part), shops) }
  const lateOrders = (await askLateOrders(orders, part.shop)).map(
    ({ minutes_open, sales_cents, ...order }): NamedOrder =>
      named(order, Math.floor(numberFrom(minutes_open) / 1440), sales_cents),
  )
  const overdueOrders = (await askOverdueOrders(orders, part.shop)).map(
    ({ days, balance_cents, ...order }): NamedOrder => named(order, numberFrom(days), balance_cents),
  )
  const groups = groupedBy(lists, ({ tenant_id }) => String(tenant_id))
  return {
    id: part.shop === undefined ? (part.tenant ?? 'all') : `shop-${part.shop}`,
    kind: part.shop !== undefined ? 'shop' : part.tenant === undefined ? 'all' : 'business',
    title: titleOf(all, part),
    shops: shops.length,
    shopsWithoutInvoices: shops.filter(({ first_day }) => first_day === null).length,
    trust: trustIn(findings, scene),
    behind: [...groups.values()].filter((of) => isBehind(of, scene.last, scene.nowMicros)).length,
    span: spanOf(months, findings),
    months: monthAmounts(rows, months, place),
    advice: adviceByMonth(findings, months, place.beginning),
    cycles: cyclesOf(findings, months),
    byShop: shopsOf(rows, months, place, nameOf),
    periods: rows.periods.map((of) => periodAnswer(of, findings, part, nameOf)),
    pace: paceOf(rows, place, until),
    receivables: receivablesOf(findings, rows, part),
    standings: part.shop === undefined ? standingsOf(findings) : [],
    needs: { ...needsOf(findings, rows, part), lateOrders, overdueOrders },
  }
}

const named = (
  {
    number,
    shop_name,
    customer_name,
  }: { readonly number: unknown; readonly shop_name: string | null; readonly customer_name: string | null },
  days: number,
  cents: unknown,
): NamedOrder => ({
  number: String(number ?? '–'),
  shop: shop_name ?? '–',
  customer: customer_name ?? '–',
  days,
  cents: cents === null ? null : numberFrom(cents),
})

/** Whether a tenant's data ends before the last month shown. */
function isBehind(lists: readonly ListHealth[], last: string, nowMicros: bigint): boolean {
  const walked = lists.filter(isWalked)
  if (walked.some(({ complete_through }) => complete_through === null)) return true
  return walked.length > 0 && oldestDay(walked, nowMicros) < `${monthsLater(last, 1)}-01`
}

const oldestDay = (rows: readonly ListHealth[], nowMicros: bigint): string =>
  rows.map((row) => completeDay([row], nowMicros)).sort()[0] ?? ''

function tenantLine(scene: Scene, id: string, findings: Findings): TenantLine {
  const { rows } = scene
  const part = { tenant: id }
  const [shown] = rows.periods
  const needs = needsOf(findings, rows, part)
  return {
    id,
    name: tenantName(findings, id),
    trust: trustIn(findings, scene),
    amounts: shown ? periodAmounts(shown, findings.shops, part) : noAmounts,
    comparison: shown && comparisonsOf(shown, findings.shops, part)[0],
    late: needs.late.orders,
    overdueCents: needs.overdue.cents,
  }
}

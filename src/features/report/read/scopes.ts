/*
 * All tenants together; each of them and each shop, if there are few: whom the page shows, and what. Used by read.ts.
 */
import sales from '../../../../schema/figures/sales_cents.js'
import { groupedBy } from '../../../engine/base/parts.js'
import { figureAmount, noAmounts } from '../amounts.js'
import type { ReportData, ReportMonth, ReportScope, TenantLine } from '../data.js'
import type { ListHealth } from './asktrust.js'
import { byTenant, type Findings, type Part, partOf } from './findings.js'
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
  soldBy,
  standingsOf,
} from './fold.js'
import { comparisonsOf, pacedShops, periodAmounts, periodAnswer } from './foldperiod.js'
import type { FigureRows } from './gather.js'
import { type askOpenDays, projectionIn } from './opendays.js'
import { isOpenSince, monthsLater } from './reportdays.js'
import type { ShopClock } from './shopclock.js'
import { tasksIn, type tasksOf } from './tasks.js'
import { completeDay, isProven, isWalked, type TrustRule, trustIn } from './trust.js'

/** With more tenants than this, the page compares them, and --tenant shows the figures of one. */
const mostTenants = 6
/** With more shops than this, only tenants can be selected. */
const mostShops = 12

/** What all scopes of a report share. */
interface Scene extends TrustRule {
  readonly findings: Findings
  readonly rows: FigureRows
  readonly months: readonly ReportMonth[]
  readonly last: string
  /** All days before it are complete. */
  readonly completeDay: string
  readonly clocks: ShopClock
  readonly madeAt: string
  readonly openDays: Awaited<ReturnType<typeof askOpenDays>>
  readonly tasks: Awaited<ReturnType<typeof tasksOf>>
}

/** Whether businesses or shops can be chosen. */
export const canChoose = ({ lists, shops }: Pick<Findings, 'lists' | 'shops'>): boolean =>
  new Set(lists.map(({ tenant_id }) => String(tenant_id))).size <= mostTenants && shops.length > 1

export function tenantsAndScopes(scene: Scene): Pick<ReportData, 'scopes' | 'tenants'> {
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
  const scopes = parts.map((part) => scopeOf(scene, part))
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

/**
 * The first month of the scope's own data may be partial where that of others isn't, and so may those that its data
 * doesn't reach the end of. Those before the first one have no data. `until`: all days of the scope before it are complete.
 */
function spanOf(months: readonly ReportMonth[], { shops }: Findings, until: string): ReportMonth[] {
  const [first] = shops.flatMap(({ first_day }) => first_day ?? []).sort()
  const cut = first !== undefined && !isOpenSince(first, `${first.slice(0, 7)}-01`) ? first.slice(0, 7) : ''
  const isBefore = (month: string): boolean => first !== undefined && month < first.slice(0, 7)
  return months.map(({ month, isPartial }) => ({
    month,
    isPartial: !isBefore(month) && (isPartial || month === cut || `${monthsLater(month, 1)}-01` > until),
  }))
}

function scopeOf(scene: Scene, part: Part): ReportScope {
  const { findings: all, rows, months } = scene
  const findings = partOf(all, part)
  const { lists, shops } = findings
  const nameOf = shopNames(all, part.tenant === undefined)
  const place = { part, shops, beginning: firstMonthOf(figuresOf(rows.months, part), shops) }
  const groups = groupedBy(lists, ({ tenant_id }) => String(tenant_id))
  return {
    id: part.shop === undefined ? (part.tenant ?? 'all') : `shop-${part.shop}`,
    kind: part.shop !== undefined ? 'shop' : part.tenant === undefined ? 'all' : 'business',
    title: titleOf(all, part),
    shops: shops.length,
    shopsWithoutInvoices: shops.filter(({ first_day }) => first_day === null).length,
    businesses: {
      all: groups.size,
      complete: [...groups.values()].filter((of) => isProven(of, scene.restsOn)).length,
    },
    trust: trustIn(findings, scene),
    behind: [...groups.values()].filter((of) => isBehind(of, scene)).length,
    span: spanOf(months, findings, completeDay(lists, scene.clocks, scene.madeAt)),
    months: monthAmounts(rows, months, place),
    advice: adviceByMonth(findings, months, place.beginning),
    cycles: cyclesOf(findings, months),
    soldBy: soldBy(rows, months, place, { shopName: nameOf, businessName: (id) => tenantName(all, id) }),
    day: rows.day && periodAnswer(rows.day, findings, part, nameOf),
    periods: rows.periods.map((of) => periodAnswer(of, findings, part, nameOf)),
    ...runningMonth(scene, part, shops, scene.completeDay),
    receivables: receivablesOf(findings, rows, part),
    standings: part.shop === undefined ? standingsOf(findings) : [],
    needs: needsOf(findings, rows, part),
    tasks: tasksIn(scene.tasks, part, nameOf),
  }
}

/** The current month so far, and what it comes to. */
function runningMonth(
  { rows, openDays }: Scene,
  part: Part,
  shops: Findings['shops'],
  completeDay: string,
): Pick<ReportScope, 'pace' | 'projection'> {
  const paced = pacedShops(rows.periods, shops, part)
  const all = projectionIn(rows, openDays, { part, shops, completeDay })
  const pace = projectionIn(rows, openDays, { part, shops, completeDay, isSame: paced.isSame })
  return {
    pace: paceOf(rows, { part, ...paced }, completeDay),
    projection: all && pace && { all, pace },
  }
}

/** Whether a tenant's data ends before the last month shown. */
function isBehind(lists: readonly ListHealth[], { last, clocks, madeAt }: Scene): boolean {
  const walked = lists.filter(isWalked)
  if (walked.some(({ complete_through }) => complete_through === null)) return true
  const days = walked.map((row) => completeDay([row], clocks, madeAt)).sort()
  return days[0] !== undefined && days[0] < `${monthsLater(last, 1)}-01`
}

function tenantLine(scene: Scene, id: string, findings: Findings): TenantLine {
  const { rows } = scene
  const part = { tenant: id }
  const [shown] = rows.periods
  const needs = needsOf(findings, rows, part)
  const late = tasksIn(scene.tasks, part, () => '').find((list) => list.id === 'late')
  return {
    id,
    name: tenantName(findings, id),
    trust: trustIn(findings, scene),
    amounts: shown ? periodAmounts(shown, findings.shops, part) : noAmounts,
    comparison: shown && comparisonsOf(shown, findings.shops, part)[0],
    late: late?.count ?? 0,
    overdueCents: needs.overdue.cents,
  }
}

/* Turns rows into the amounts of a scope: all tenants together, one tenant, or one shop. */

import creditsFigure from '../../../../schema/figures/credits_cents.js'
import openEstimates from '../../../../schema/figures/open_estimates.js'
import ordersInProgress from '../../../../schema/figures/orders_in_progress.js'
import receivablesFigure from '../../../../schema/figures/receivables_cents.js'
import sales from '../../../../schema/figures/sales_cents.js'
import workInProgress from '../../../../schema/figures/work_in_progress_cents.js'
import { groupedBy } from '../../../engine/base/parts.js'
import type { FigureRow } from '../../analytics/figuresql.js'
import { type Amounts, addedAmounts, addedTenants, figureAmount, noData, withDistinct } from '../amounts.js'
import {
  overdueAges,
  type PaceLine,
  type ReceivableAge,
  type ReportMonth,
  type ReportScope,
} from '../data.js'
import { monthInFull } from '../numberwords.js'
import { type Findings, isOf, type Part } from './findings.js'
import type { FigureRows } from './gather.js'
import { isOpenSince, monthsLater, numberFrom } from './reportdays.js'

/** Adds up a value of each row. */
const total = <T>(rows: readonly T[], of: (row: T) => unknown): number =>
  rows.reduce((sum, row) => sum + numberFrom(of(row)), 0)

/** The rows of a part. Rows by tenant have no shop and belong to each of its shops. */
export const figuresOf = (rows: readonly FigureRow[], part: Part): FigureRow[] =>
  rows.filter(({ keys: { tenant_id, shop_key } }) => isOf(part, { tenant_id, shop_key }))

/**
 * The first month with data: that of the first invoice of a shop, or the first one that has a row. null if there is
 * neither.
 */
export function firstMonthOf(
  rows: readonly FigureRow[],
  shops: readonly { readonly first_day: string | null }[],
): string | null {
  const days = [...shops.map(({ first_day }) => first_day), ...rows.map(({ keys }) => keys.month ?? null)]
  return (
    days
      .flatMap((day) => day?.slice(0, 7) ?? [])
      .sort()
      .at(0) ?? null
  )
}

/** Whether a month is before the data begins. */
const isBefore = (month: string, beginning: string | null): boolean => beginning === null || month < beginning

/**
 * The values of the rows of a part. For a tenant, cars and customers are counted over all its shops.
 */
export function amountsIn(rows: readonly FigureRow[], distinct: readonly FigureRow[], part: Part): Amounts {
  const sum = addedAmounts(figuresOf(rows, part).map(({ values }) => values))
  if (part.shop !== undefined) return sum
  return withDistinct(sum, addedTenants(figuresOf(distinct, part).map(({ values }) => values)))
}

export function monthAmounts(
  rows: FigureRows,
  months: readonly ReportMonth[],
  { part, beginning }: CoveredPart,
): Amounts[] {
  const byMonth = groupedBy(rows.months, ({ keys }) => keys.month ?? '')
  const distinct = groupedBy(rows.distinctMonths, ({ keys }) => keys.month ?? '')
  return months.map(({ month }) =>
    isBefore(month, beginning)
      ? noData
      : amountsIn(byMonth.get(month) ?? [], distinct.get(month) ?? [], part),
  )
}

/** By month; null before the data begins. */
export function adviceByMonth(
  findings: Findings,
  months: readonly ReportMonth[],
  beginning: string | null,
): ReportScope['advice'] {
  const groups = groupedBy(findings.recommendations, ({ month }) => month ?? '')
  return months.map(({ month }) => {
    const rows = groups.get(month) ?? []
    if (rows.length === 0 && isBefore(month, beginning)) return null
    return {
      soldAtOnce: total(rows, (row) => row.sold_at_once),
      soldLater: total(rows, (row) => row.sold_later),
      approvedUnsold: total(rows, (row) => row.unsold),
      declined: total(rows, (row) => row.declined),
      undecided: total(rows, (row) => row.undecided),
      valueCents: total(rows, (row) => row.value),
      withoutValue: total(rows, (row) => row.without),
    }
  })
}

export function cyclesOf(findings: Findings, months: readonly ReportMonth[]): ReportScope['cycles'] {
  const groups = groupedBy(findings.cycles, ({ month }) => month ?? '')
  return months.map(({ month }) => {
    const rows = groups.get(month) ?? []
    return {
      bands: (['band0', 'band1', 'band2', 'band3', 'band4'] as const).map((band) =>
        total(rows, (row) => row[band]),
      ),
      unknown: total(rows, (row) => row.unknown),
    }
  })
}

/** A part, its shops, and the first month of its data. */
interface CoveredPart {
  readonly part: Part
  readonly shops: Findings['shops']
  readonly beginning: string | null
}

/** What a shop is called, with or without its tenant's name. */
export type ShopNames = (shopKey: string | null) => string

/** More colors than these can't be told apart. */
const mostColors = 8

/** By shop; if there are too many, by business; if there are too many of both, not at all. */
export function soldBy(
  rows: FigureRows,
  months: readonly ReportMonth[],
  { part, shops }: Pick<CoveredPart, 'part' | 'shops'>,
  {
    shopName,
    businessName,
  }: { readonly shopName: ShopNames; readonly businessName: (tenant: string) => string },
): ReportScope['soldBy'] {
  const own = figuresOf(rows.months, part)
  const byShop = groupedBy(own, ({ keys }) => keys.shop_key ?? '')
  const byTenant = groupedBy(own, ({ keys }) => keys.tenant_id ?? '')
  const isByShop = byShop.size <= mostColors
  const groups = isByShop ? byShop : byTenant
  const of = isByShop ? 'shop' : 'business'
  if (groups.size > mostColors || (!isByShop && groups.size < 2)) return { of, lines: [] }
  const lines = [...groups]
    .map(([key, rows]) => {
      const byMonth = groupedBy(rows, ({ keys }) => keys.month ?? '')
      const known = shops.filter(
        ({ shop_key, tenant_id }) => (isByShop ? shop_key : String(tenant_id)) === key,
      )
      const beginning = firstMonthOf(rows, known)
      const salesCents = months.map(({ month }) => {
        const sums = addedAmounts((byMonth.get(month) ?? []).map(({ values }) => values))
        return isBefore(month, beginning) ? null : figureAmount(sums, sales)
      })
      return { key, name: isByShop ? shopName(key === '' ? null : key) : businessName(key), salesCents }
    })
    .sort((a, b) => total(b.salesCents, Number) - total(a.salesCents, Number) || (a.key < b.key ? -1 : 1))
  return { of, lines }
}

const daysIn = (month: string): number =>
  Math.round(
    (Date.parse(`${monthsLater(month, 1)}-01T00:00:00Z`) - Date.parse(`${month}-01T00:00:00Z`)) / 86_400_000,
  )

/**
 * `completeDay`: the current month is shown up to the day before. All lines are of the same shops: an earlier month that
 * begins before the data of one of them does is not shown.
 */
export function paceOf(
  rows: FigureRows,
  {
    part,
    shops,
    isSame,
  }: Pick<CoveredPart, 'part' | 'shops'> & { readonly isSame: (row: FigureRow) => boolean },
  completeDay: string,
): PaceLine[] {
  const own = (of: readonly FigureRow[]): FigureRow[] => figuresOf(of, part).filter(isSame)
  const paced = own(rows.pace.flatMap(({ days }) => days))
  const [first = '9999'] = [
    ...shops.flatMap(({ first_day }) => first_day ?? []),
    ...paced.flatMap(({ keys }) => keys.month ?? []),
  ].sort()
  return rows.pace.map(({ month, days }, i) => {
    const isShown = i === 0 || shops.every(({ first_day }) => isOpenSince(first_day, `${month}-01`))
    const byDay = groupedBy(own(days), ({ keys }) => keys.month ?? '')
    let sum = 0
    const cents = Array.from({ length: daysIn(month) }, (_, i) => {
      const day = `${month}-${String(i + 1).padStart(2, '0')}`
      if (day >= completeDay || !isShown || day < first) return null
      const of = byDay.get(day)
      sum += of ? (figureAmount(addedAmounts(of.map(({ values }) => values)), sales) ?? 0) : 0
      return sum
    })
    return { name: monthInFull(month), cents }
  })
}

export function receivablesOf(findings: Findings, rows: FigureRows, part: Part): ReceivableAge[] {
  const amounts = groupedBy(figuresOf(rows.receivables, part), ({ keys }) => keys.bucket ?? '')
  return [...groupedBy(findings.receivables, ({ bucket }) => bucket ?? '')].map(([bucket, lines]) => {
    const of = addedAmounts((amounts.get(bucket) ?? []).map(({ values }) => values))
    return {
      bucket,
      invoices: total(lines, (row) => row.owing),
      cents: figureAmount(of, receivablesFigure) ?? 0,
      unknown: total(lines, (row) => row.owing_unknown),
      atLeastCents: total(lines, (row) => row.at_least),
      overpaid: total(lines, (row) => row.overpaid),
    }
  })
}

export const standingsOf = (findings: Findings): ReportScope['standings'] =>
  [...groupedBy(findings.customers, ({ standing }) => standing ?? '')].map(([standing, rows]) => ({
    standing,
    customers: total(rows, (row) => row.customers),
    salesCents: total(rows, (row) => row.sales),
  }))

export function needsOf(findings: Findings, rows: FigureRows, part: Part): ReportScope['needs'] {
  const ages = receivablesOf(findings, rows, part)
  const open = amountsIn(rows.open, [], part)
  const sums = (lines: readonly ReceivableAge[]) => ({
    invoices: total(lines, (line) => line.invoices),
    cents: total(lines, (line) => line.cents),
    unknown: total(lines, (line) => line.unknown),
    atLeastCents: total(lines, (line) => line.atLeastCents),
    overpaid: total(lines, (line) => line.overpaid),
  })
  return {
    inProgress: {
      orders: figureAmount(open, ordersInProgress) ?? 0,
      salesCents: figureAmount(open, workInProgress),
    },
    estimates: figureAmount(open, openEstimates) ?? 0,
    receivables: sums(ages),
    overdue: sums(ages.filter(({ bucket }) => overdueAges.some((age) => age === bucket))),
    creditCents: -(figureAmount(open, creditsFigure) ?? 0) || 0,
  }
}

/* Turns rows into the amounts of a scope: all tenants together, one tenant, or one shop. */

import creditsFigure from '../../../../schema/figures/credits_cents.js'
import openEstimates from '../../../../schema/figures/open_estimates.js'
import ordersInProgress from '../../../../schema/figures/orders_in_progress.js'
import receivablesFigure from '../../../../schema/figures/receivables_cents.js'
import sales from '../../../../schema/figures/sales_cents.js'
import workInProgress from '../../../../schema/figures/work_in_progress_cents.js'
import type { FigureRow } from '../../analytics/figuresql.js'
import {
  type Amounts,
  addedAmounts,
  addedTenants,
  figureAmount,
  leftOutOf,
  noData,
  withDistinct,
} from '../amounts.js'
import type { PaceLine, RankedShop, ReceivableAge, ReportMonth, ReportScope } from '../data.js'
import { monthInFull } from '../numberwords.js'
import { type Findings, isOf, type Part } from './findings.js'
import type { FigureRows } from './gather.js'
import { groupedBy, isOpenSince, monthsLater, numberFrom } from './reportdays.js'

/** Adds up a value of each row. */
const total = <T>(rows: readonly T[], of: (row: T) => unknown): number =>
  rows.reduce((sum, row) => sum + numberFrom(of(row)), 0)

const located = ({ keys }: FigureRow) => ({
  tenant_id: keys.tenant_id,
  ...(keys.shop_key !== undefined && { shop_key: keys.shop_key }),
})

/** The rows of a part. Rows by tenant have no shop and belong to each of its shops. */
export const figuresOf = (rows: readonly FigureRow[], part: Part): FigureRow[] =>
  rows.filter((row) => isOf(part, located(row)))

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
    const unsold = (decision: string): number =>
      total(
        rows.filter((row) => row.decision === decision),
        (row) => numberFrom(row.all) - numberFrom(row.sold_later),
      )
    const notApproved = rows.filter(({ decision }) => decision !== 'approved')
    return {
      approved: total(
        rows.filter(({ decision }) => decision === 'approved'),
        (row) => row.all,
      ),
      soldLater: total(notApproved, (row) => row.sold_later),
      declined: unsold('declined'),
      undecided: unsold('undecided'),
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

export function shopsOf(
  rows: FigureRows,
  months: readonly ReportMonth[],
  { part, shops: known }: Pick<CoveredPart, 'part' | 'shops'>,
  nameOf: ShopNames,
): RankedShop[] {
  const shops = groupedBy(figuresOf(rows.months, part), ({ keys }) => keys.shop_key ?? '')
  return [...shops]
    .map(([key, of]) => {
      const byMonth = new Map(of.map(({ keys, values }) => [keys.month ?? '', values]))
      const own = known.filter(({ shop_key }) => shop_key === key)
      const beginning = firstMonthOf(of, own)
      const salesCents = months.map(({ month }) =>
        isBefore(month, beginning) ? null : figureAmount(byMonth.get(month), sales),
      )
      return { key, name: nameOf(key === '' ? null : key), salesCents }
    })
    .sort((a, b) => total(b.salesCents, Number) - total(a.salesCents, Number) || (a.key < b.key ? -1 : 1))
}

const daysIn = (month: string): number =>
  Math.round(
    (Date.parse(`${monthsLater(month, 1)}-01T00:00:00Z`) - Date.parse(`${month}-01T00:00:00Z`)) / 86_400_000,
  )

/**
 * `completeDay`: the current month is shown up to the day before. An earlier month that begins before the data does is
 * not shown: its sums would lack the first days.
 */
export function paceOf(rows: FigureRows, { part, shops }: CoveredPart, completeDay: string): PaceLine[] {
  const paced = figuresOf(
    rows.pace.flatMap(({ days }) => days),
    part,
  )
  const [first = '9999'] = [
    ...shops.flatMap(({ first_day }) => first_day ?? []),
    ...paced.flatMap(({ keys }) => keys.month ?? []),
  ].sort()
  return rows.pace.map(({ month, days }, i) => {
    const isShown = i === 0 || isOpenSince(first, `${month}-01`)
    const byDay = groupedBy(figuresOf(days, part), ({ keys }) => keys.month ?? '')
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
      unknown: leftOutOf(of, receivablesFigure),
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

/** Without the lists of single orders, which are queried for each scope that is shown. */
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
    late: {
      orders: total(findings.late, (row) => row.orders),
      salesCents: total(findings.late, (row) => row.sales),
    },
    lateOrders: [],
    receivables: sums(ages),
    overdue: sums(ages.filter(({ bucket }) => bucket !== '0 to 30')),
    creditCents: -(figureAmount(open, creditsFigure) ?? 0) || 0,
    overdueOrders: [],
    undecided: {
      count: total(findings.undecided, (row) => row.all),
      valueCents: total(findings.undecided, (row) => row.value),
      withoutValue: total(findings.undecided, (row) => row.without),
    },
  }
}

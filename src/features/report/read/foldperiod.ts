/* A scope's values in each period, compared with the same shops before, and who and what contributed. */

import type { DeclaredFigure } from '../../../../schema/figure.js'
import grossProfit from '../../../../schema/figures/gross_profit_cents.js'
import invoices from '../../../../schema/figures/invoices.js'
import partsMargin from '../../../../schema/figures/parts_margin.js'
import sales from '../../../../schema/figures/sales_cents.js'
import serviceSales from '../../../../schema/figures/service_sales_cents.js'
import technicianHours from '../../../../schema/figures/technician_hours.js'
import { groupedBy } from '../../../engine/base/parts.js'
import type { FigureRow } from '../../analytics/figuresql.js'
import { type Amounts, addedAmounts, figureAmount, noData } from '../amounts.js'
import type { DayRange, PeriodAnswer, PeriodComparison, RankedLine } from '../data.js'
import type { Findings, Part } from './findings.js'
import { amountsIn, figuresOf, type ShopNames } from './fold.js'
import { newerShops, type PeriodRows } from './gather.js'
import { isOpenSince } from './reportdays.js'

/** With more shops than this, a table of them is no longer a ranking. */
const mostShops = 12

/** Groups of rows by a key, the largest first. Of two with the same name, each has its key behind it. */
function ranked(
  rows: readonly FigureRow[],
  [key, name]: readonly [key: string, name: string],
  figure: DeclaredFigure,
): RankedLine[] {
  const groups = [...groupedBy(rows, ({ keys }) => keys[key] ?? '')]
  const names = groupedBy(groups, ([, of]) => of[0]?.keys[name] ?? '–')
  return groups
    .map(([id, of]) => {
      const own = of[0]?.keys[name] ?? '–'
      const isShared = (names.get(own)?.length ?? 0) > 1
      return {
        key: id === '' ? null : id,
        name: isShared && own !== id ? `${own} (${id})` : own,
        amounts: addedAmounts(of.map(({ values }) => values)),
      }
    })
    .sort(
      (a, b) =>
        (figureAmount(b.amounts, figure) ?? 0) - (figureAmount(a.amounts, figure) ?? 0) ||
        (a.name < b.name ? -1 : 1),
    )
}

/** A shop counts in both periods, or in neither. `own`: the rows of the later one; `range`: the earlier one. */
function sameShops(own: readonly FigureRow[], shops: Findings['shops'], range: DayRange) {
  const same = shops.filter(({ first_day }) => isOpenSince(first_day, range.from, range.to))
  const keys = new Set(same.map(({ shop_key }) => shop_key))
  const newer = newerShops(own, shops, range)
  const owners = new Set(newer.map(({ tenant_id }) => String(tenant_id)))
  // Rows without a shop are compared if no shop of their tenant is left out.
  const isSame = (row: FigureRow): boolean =>
    row.keys.shop_key === null ? !owners.has(row.keys.tenant_id ?? '') : keys.has(row.keys.shop_key ?? null)
  return { shops: same, isSame, newer }
}

/** The shops of the pace: those that the comparison of the current month with the one before includes; else all. */
export function pacedShops(rows: readonly PeriodRows[], shops: Findings['shops'], part: Part) {
  const running = rows.find(({ period }) => period.id === 'month-to-date')
  const [before] = running?.period.compared ?? []
  const found = running && before && sameShops(figuresOf(running.all, part), shops, before)
  return found && found.shops.length > 0 ? found : { shops, isSame: () => true }
}

export function comparisonsOf(rows: PeriodRows, shops: Findings['shops'], part: Part): PeriodComparison[] {
  const own = figuresOf(rows.all, part)
  return rows.period.compared.flatMap(({ words, label, ...range }, i) => {
    const before = figuresOf(rows.compared[i] ?? [], part)
    const { shops: same, isSame, newer } = sameShops(own, shops, range)
    if (same.length === 0) return []
    const sum = (of: readonly FigureRow[], counts: readonly FigureRow[] = []) =>
      amountsIn(of.filter(isSame), counts, part)
    const counts = rows.comparedCounts[i]
    return [
      {
        words,
        label,
        shops: same.length,
        shopsLeftOut: newer.length,
        now: sum(own, counts?.now),
        before: sum(before, counts?.before),
      },
    ]
  })
}

function shopLines(
  rows: PeriodRows,
  { shops }: Findings,
  part: Part,
  nameOf: ShopNames,
): readonly RankedLine[] {
  const own = figuresOf(rows.all, part)
  if (part.shop !== undefined || shops.length < 2 || shops.length > mostShops) return []
  const [compared] = rows.period.compared
  const before = compared ? figuresOf(rows.compared[0] ?? [], part) : []
  const shopOf = ({ key }: RankedLine) => shops.find(({ shop_key }) => shop_key === key)
  // Before its first invoice, a shop has deposits at most, and rows without a shop are none.
  const isShown = (line: RankedLine): boolean =>
    (shopOf(line)?.first_day ?? '9999') < rows.period.to || (figureAmount(line.amounts, invoices) ?? 0) > 0
  return ranked(own, ['shop_key', 'shop_key'], sales)
    .filter(isShown)
    .map((line) => {
      const shop = shopOf(line)
      const earlier = before.find(({ keys }) => keys.shop_key === line.key)
      const isComparable = compared && isOpenSince(shop?.first_day ?? null, compared.from)
      return { ...line, name: nameOf(line.key), before: isComparable ? earlier?.values : undefined }
    })
}

/** Of a period that ends before the first invoice, nothing is known. */
export function periodAmounts(rows: PeriodRows, shops: Findings['shops'], part: Part): Amounts {
  const isBefore = shops.every(({ first_day }) => first_day === null || first_day >= rows.period.to)
  return isBefore && figuresOf(rows.all, part).length === 0
    ? noData
    : amountsIn(rows.all, rows.distinct, part)
}

/**
 * Technicians of the period, each compared with the one before only if all their shops were open in both: the others
 * were there for a part of it.
 */
function technicianLines(rows: PeriodRows, shops: Findings['shops'], part: Part): RankedLine[] {
  const technician = ['technician_key', 'technician_name'] as const
  const own = figuresOf(rows.technicians, part)
  const [compared] = rows.period.compared
  const newer = new Set((compared ? newerShops(own, shops, compared) : []).map(({ shop_key }) => shop_key))
  const isNewer = ({ keys }: FigureRow): boolean => newer.has(keys.shop_key ?? null)
  const moved = new Set(own.filter(isNewer).map(({ keys }) => keys.technician_key ?? null))
  const before = ranked(figuresOf(rows.techniciansBefore, part), technician, technicianHours)
  return ranked(own, technician, technicianHours).map((line) => {
    const earlier = moved.has(line.key) ? undefined : before.find(({ key }) => key === line.key)
    return { ...line, before: earlier ? earlier.amounts : undefined }
  })
}

export function periodAnswer(
  rows: PeriodRows,
  findings: Findings,
  part: Part,
  nameOf: ShopNames,
): PeriodAnswer {
  const of = (name: 'advisors' | 'categories' | 'costBands') => figuresOf(rows[name], part)
  return {
    period: rows.period,
    amounts: periodAmounts(rows, findings.shops, part),
    comparisons: comparisonsOf(rows, findings.shops, part),
    shops: shopLines(rows, findings, part, nameOf),
    advisors: ranked(of('advisors'), ['advisor_key', 'advisor_name'], grossProfit),
    technicians: technicianLines(rows, findings.shops, part),
    categories: ranked(of('categories'), ['category', 'category'], serviceSales),
    costBands: ranked(of('costBands'), ['cost_band', 'cost_band'], partsMargin).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  }
}

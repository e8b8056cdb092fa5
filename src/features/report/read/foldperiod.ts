/* A scope's values in each period, compared with the same shops before, and who and what contributed. */

import type { DeclaredFigure } from '../../../../schema/figure.js'
import grossProfit from '../../../../schema/figures/gross_profit_cents.js'
import partsMargin from '../../../../schema/figures/parts_margin.js'
import sales from '../../../../schema/figures/sales_cents.js'
import serviceSales from '../../../../schema/figures/service_sales_cents.js'
import technicianHours from '../../../../schema/figures/technician_hours.js'
import type { FigureRow } from '../../analytics/figuresql.js'
import { addedAmounts, figureAmount } from '../amounts.js'
import type { PeriodAnswer, PeriodComparison, RankedLine } from '../data.js'
import type { Findings, Part } from './findings.js'
import { amountsIn, figuresOf, isOpenSince, type ShopNames } from './fold.js'
import type { PeriodRows } from './gather.js'
import { groupedBy } from './reportdays.js'

/** With more shops than this, a table of them is no longer a ranking. */
const mostShops = 12

/** Groups of rows by a key, the largest first. */
function ranked(
  rows: readonly FigureRow[],
  [key, name]: readonly [key: string, name: string],
  figure: DeclaredFigure,
): RankedLine[] {
  return [...groupedBy(rows, ({ keys }) => keys[key] ?? '')]
    .map(([id, of]) => ({
      key: id === '' ? null : id,
      name: of[0]?.keys[name] ?? '–',
      amounts: addedAmounts(of.map(({ values }) => values)),
    }))
    .sort(
      (a, b) =>
        (figureAmount(b.amounts, figure) ?? 0) - (figureAmount(a.amounts, figure) ?? 0) ||
        (a.name < b.name ? -1 : 1),
    )
}

/** A shop counts in both periods, or in neither. */
export function comparisonsOf(rows: PeriodRows, shops: Findings['shops'], part: Part): PeriodComparison[] {
  const own = figuresOf(rows.all, part)
  return rows.period.compared.flatMap(({ words, label, from }, i) => {
    const before = figuresOf(rows.compared[i] ?? [], part)
    const same = new Set(
      shops.filter(({ first_day }) => isOpenSince(first_day, from)).map(({ shop_key }) => shop_key),
    )
    if (same.size === 0) return []
    const others = own.filter(({ keys }) => keys.shop_key !== null && !same.has(keys.shop_key ?? null))
    // Rows without a shop are compared if nothing is left out.
    const isSame = ({ keys }: FigureRow): boolean =>
      keys.shop_key === null ? others.length === 0 : same.has(keys.shop_key ?? null)
    const sum = (of: readonly FigureRow[]) => addedAmounts(of.filter(isSame).map(({ values }) => values))
    return [{ words, label, now: sum(own), before: sum(before), shopsLeftOut: others.length }]
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
  return ranked(own, ['shop_key', 'shop_key'], sales).map((line) => {
    const shop = shops.find(({ shop_key }) => shop_key === line.key)
    const earlier = before.find(({ keys }) => keys.shop_key === line.key)
    const isComparable = compared && earlier && isOpenSince(shop?.first_day ?? null, compared.from)
    return { ...line, name: nameOf(line.key), ...(isComparable && { before: earlier.values }) }
  })
}

export function periodAnswer(
  rows: PeriodRows,
  findings: Findings,
  part: Part,
  nameOf: ShopNames,
): PeriodAnswer {
  const of = (name: 'advisors' | 'technicians' | 'techniciansBefore' | 'categories' | 'costBands') =>
    figuresOf(rows[name], part)
  const technician = ['technician_key', 'technician_name'] as const
  const before = ranked(of('techniciansBefore'), technician, technicianHours)
  return {
    period: rows.period,
    amounts: amountsIn(rows.all, rows.distinct, part),
    comparisons: comparisonsOf(rows, findings.shops, part),
    shops: shopLines(rows, findings, part, nameOf),
    advisors: ranked(of('advisors'), ['advisor_key', 'advisor_name'], grossProfit),
    technicians: ranked(of('technicians'), technician, technicianHours).map((line) => {
      const earlier = before.find(({ key }) => key === line.key)
      return { ...line, ...(earlier && { before: earlier.amounts }) }
    }),
    categories: ranked(of('categories'), ['category', 'category'], serviceSales),
    costBands: ranked(of('costBands'), ['cost_band', 'cost_band'], partsMargin).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  }
}

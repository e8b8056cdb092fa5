/*
 * The values of the declared figures (schema/figures/), and how they are written. Every business figure in the report
 * is one of these, so it equals what shop_months and BI tools show.
 */
import { addsUp, type DeclaredFigure } from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import { count } from '../../engine/base/format.js'
import { addedValues, type FigureValue, figureNumber } from '../analytics/figuresql.js'
import {
  hoursText,
  moneyText,
  moneyToTheCent,
  percentOf,
  type Trend,
  trendOf,
  unknownMark,
} from './numberwords.js'

/** By figure name. A missing figure has no rows: nothing happened. */
export type Amounts = ReadonlyMap<string, FigureValue>

export const noAmounts: Amounts = new Map()

/** Of a period before the data begins: nothing is known of it, which is not 0. */
export const noData: Amounts = new Map(
  figures.map(({ name }) => [name, { numerator: null, denominator: null, leftOut: 0 }]),
)

/** In the figure's unit. Null if nothing is known of it, and for a ratio of nothing. */
export function figureAmount(amounts: Amounts | undefined, figure: DeclaredFigure): number | null {
  const value = amounts?.get(figure.name)
  if (value === undefined) return figure.denominator ? null : 0
  return figureNumber(figure, value)
}

/** How many rows a figure leaves out. */
export const leftOutOf = (amounts: Amounts | undefined, { name }: DeclaredFigure): number =>
  amounts?.get(name)?.leftOut ?? 0

const distinctNames: ReadonlySet<string> = new Set(
  figures.filter(({ numerator }) => 'distinct' in numerator).map(({ name }) => name),
)

/**
 * The sum of groups. Distinct counts don't add up: of several groups, they are unknown until `withDistinct` adds those
 * that were counted over the whole.
 */
export function addedAmounts(groups: readonly Amounts[]): Amounts {
  const sum = new Map<string, FigureValue>()
  for (const group of groups)
    for (const [name, value] of group) {
      const before = sum.get(name)
      const added = addedValues(before, value)
      sum.set(name, before && distinctNames.has(name) ? { ...added, numerator: null } : added)
    }
  return sum
}

/** Distinct counts of several tenants, whose cars and customers are never the same. */
export function addedTenants(tenants: readonly Amounts[]): Amounts {
  const sum = new Map<string, FigureValue>()
  for (const tenant of tenants)
    for (const [name, value] of tenant) sum.set(name, addedValues(sum.get(name), value))
  return sum
}

/** The same, with the figures that were counted over the whole group. */
export const withDistinct = (amounts: Amounts, distinct: Amounts): Amounts =>
  new Map([...amounts, ...distinct])

const inWords: Readonly<Record<DeclaredFigure['unit'], (value: number) => string>> = {
  cents: moneyText,
  'cents per hour': moneyToTheCent,
  hours: hoursText,
  count,
  percent: percentOf,
  days: hoursText,
  turns: hoursText,
}

export const amountText = (amounts: Amounts | undefined, figure: DeclaredFigure): string => {
  const value = figureAmount(amounts, figure)
  if (value === null) return unknownMark
  // An average of hours is small.
  return figure.unit === 'hours' && figure.denominator ? value.toFixed(2) : inWords[figure.unit](value)
}

/** The denominator of a ratio, as its own values count it: `amount` writes it. */
export function denominatorText(
  amounts: Amounts | undefined,
  { name }: DeclaredFigure,
  amount: (value: number) => string,
): string {
  const value = amounts?.get(name)?.denominator ?? null
  return value === null ? unknownMark : amount(value)
}

/** The change of a figure; null if there is nothing to compare. */
export const changeOf = (now: Amounts, before: Amounts, figure: DeclaredFigure): Trend | null =>
  addsUp(figure) && !before.has(figure.name)
    ? null
    : trendOf(figureAmount(now, figure), figureAmount(before, figure))

/** `12 invoices without a known cost are left out.`; nothing if none is. */
export function leftOutText(groups: readonly Amounts[], figure: DeclaredFigure): string[] {
  const left = groups.reduce((sum, amounts) => sum + leftOutOf(amounts, figure), 0)
  if (left === 0 || !figure.leavesOut) return []
  return [`Left out: ${count(left)} ${figure.leavesOut.what}.`]
}

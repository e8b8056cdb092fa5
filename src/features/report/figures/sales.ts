import { count, plural } from '../../../engine/base/format.js'
import { behindRemark } from '../answers.js'
import type { Chart, ChartColor, ChartSeries, Figure } from '../chart.js'
import type { MonthNumbers, RankedShop, ReportMonth, ReportScope } from '../data.js'
import {
  hoursText,
  moneyText,
  moneyToTheCent,
  monthInFull,
  monthInShort,
  percentText,
  ratio,
} from '../numberwords.js'

/* What figures over the months of the report share. */

/** Every third month is named where there are many, and the year stands below January. */
function tickOf(month: string, index: number, months: readonly ReportMonth[]): string {
  const number = Number(month.slice(5, 7))
  const name = monthInShort(month).slice(0, 3)
  const isNamed = months.length <= 13 ? true : number % 3 === 1
  if (!isNamed) return ''
  const isFirst = months.findIndex((one) => one.month.slice(0, 4) === month.slice(0, 4)) === index
  const isJanuary = number === 1
  return isJanuary || (isFirst && number < 10) ? `${name}\n${month.slice(0, 4)}` : name
}

export const overMonths = (
  months: readonly ReportMonth[],
): Pick<Chart, 'of' | 'categories' | 'ticks' | 'partial'> => ({
  of: 'month',
  categories: months.map(({ month }) => monthInShort(month)),
  ticks: months.map(({ month }, i) => tickOf(month, i, months)),
  partial: months.map(({ isPartial }) => isPartial),
})

/** The months whose numbers will still grow, in a sentence; nothing where all are whole. */
export function aboutPartial(months: readonly ReportMonth[]): string[] {
  const names = months.filter(({ isPartial }) => isPartial).map(({ month }) => monthInFull(month))
  if (names.length === 0) return []
  return [
    `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not whole: hatched, or a hollow point.`,
  ]
}

/* Sales, profit and what an order and an hour bring, by month. */

export interface FigureInput {
  readonly months: readonly ReportMonth[]
  readonly lastMonth: number | null
  readonly scope: ReportScope
}

/** The month that findings speak of, and its numbers. */
export function lastWhole({ months, lastMonth, scope }: FigureInput): [string, MonthNumbers] | undefined {
  const month = lastMonth === null ? undefined : months[lastMonth]
  const numbers = lastMonth === null ? undefined : scope.months[lastMonth]
  return month && numbers && [monthInFull(month.month), numbers]
}

export const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)

const shopColors: readonly ChartColor[] = ['blue', 'sky', 'purple', 'green', 'grey']

/** Shops beyond this many are told as one: more colors than that cannot be told apart. */
const mostShops = 5

/** The shops with most sales, and the others together where there are more. */
function shopSeries(shops: readonly RankedShop[]): ChartSeries[] {
  const shown = shops.length > mostShops ? shops.slice(0, mostShops - 1) : shops
  const others = shops.slice(shown.length)
  const series: ChartSeries[] = shown.map(({ name, salesCents }, i) => ({
    name,
    color: shopColors[i] ?? 'grey',
    values: salesCents,
  }))
  if (others.length === 0) return series
  const values = others[0]?.salesCents.map((_, i) => sumOf(others, (shop) => shop.salesCents[i] ?? 0)) ?? []
  return [...series, { name: `${plural(others.length, 'other shop')}`, color: 'grey', values }]
}

export function salesFigure(input: FigureInput): Figure {
  const { months, scope } = input
  const last = lastWhole(input)
  const without = sumOf(scope.months, (month) => month.invoicesWithoutProfit)
  const profit: ChartSeries = {
    name: 'Gross profit',
    color: 'orange',
    isLine: true,
    values: scope.months.map((month) => month.grossProfitCents),
  }
  return {
    id: 'sales',
    title:
      scope.byShop.length > 1
        ? 'Sales and gross profit by month and shop'
        : 'Sales and gross profit by month',
    finding: last
      ? `${last[0]}: ${moneyText(last[1].salesCents)} of sales, ${percentText(last[1].grossProfitCents, last[1].salesWithProfitCents)} of it gross profit.`
      : '',
    definition:
      'Sales are the labor, parts, sublets and hazardous materials of invoices, less discounts, before supply fees and taxes, in the month in which the shop closed the invoice. Gross profit is sales less what parts and sublets cost. It is before technicians’ pay, and so not comparable with shop systems that subtract pay.',
    leftOut: [
      ...(without > 0
        ? [
            `${plural(without, 'invoice')} with an unknown price or cost are in sales and not in gross profit.`,
          ]
        : []),
      ...behindRemark(scope.behind, last?.[0] ?? 'the last month'),
      ...aboutPartial(months),
    ],
    chart: {
      shape: 'columns',
      unit: 'money',
      ...overMonths(months),
      series: [...shopSeries(scope.byShop), profit],
    },
    extra: [
      {
        title: 'Margin',
        cells: scope.months.map((m) => percentText(m.grossProfitCents, m.salesWithProfitCents)),
      },
      { title: 'Invoices', cells: scope.months.map((m) => count(m.invoices)) },
      { title: 'Without profit', cells: scope.months.map((m) => count(m.invoicesWithoutProfit)) },
    ],
    isWide: true,
    nothing: 'No invoice has been closed yet.',
  }
}

export function averageOrderFigure(input: FigureInput): Figure {
  const { months, scope } = input
  const last = lastWhole(input)
  const average = last && ratio(last[1].salesCents, last[1].invoices)
  return {
    id: 'average-order',
    title: 'Average repair order',
    finding: last && average !== undefined && average !== null ? `${last[0]}: ${moneyText(average)}.` : '',
    definition: 'Sales of a month divided by its invoices.',
    leftOut: aboutPartial(months),
    chart: {
      shape: 'lines',
      unit: 'money',
      ...overMonths(months),
      series: [
        {
          name: 'Average repair order',
          color: 'blue',
          values: scope.months.map((month) => ratio(month.salesCents, month.invoices)),
        },
      ],
    },
    extra: [{ title: 'Invoices', cells: scope.months.map((month) => count(month.invoices)) }],
    nothing: 'No invoice has been closed yet.',
  }
}

export function orderHoursFigure(input: FigureInput): Figure {
  const { months, scope } = input
  const last = lastWhole(input)
  const average = last && ratio(last[1].hours, last[1].invoices)
  return {
    id: 'order-hours',
    title: 'Hours sold an order',
    finding:
      last && average !== undefined && average !== null ? `${last[0]}: ${average.toFixed(2)} hours.` : '',
    definition: 'Labor hours of a month’s invoices divided by their number.',
    leftOut: aboutPartial(months),
    chart: {
      shape: 'lines',
      unit: 'hours',
      ...overMonths(months),
      series: [
        {
          name: 'Hours an order',
          color: 'purple',
          values: scope.months.map((month) => ratio(month.hours, month.invoices)),
        },
      ],
    },
    extra: [{ title: 'Hours', cells: scope.months.map((month) => hoursText(month.hours)) }],
    nothing: 'No invoice has been closed yet.',
  }
}

export function laborRateFigure(input: FigureInput): Figure {
  const { months, scope } = input
  const last = lastWhole(input)
  const rate = last && ratio(last[1].laborCents, last[1].ratedHours)
  const unrated = sumOf(scope.months, (month) => month.hours - month.ratedHours)
  return {
    id: 'labor-rate',
    title: 'Effective labor rate',
    finding:
      last && rate !== undefined && rate !== null ? `${last[0]}: ${moneyToTheCent(rate)} an hour.` : '',
    definition: 'Labor sales after discounts, divided by the hours that have a labor rate.',
    leftOut: [
      ...(unrated > 0.05 ? [`${hoursText(unrated)} hours without a labor rate are left out.`] : []),
      ...aboutPartial(months),
    ],
    chart: {
      shape: 'lines',
      unit: 'moneyToTheCent',
      ...overMonths(months),
      series: [
        {
          name: 'Labor sales an hour',
          color: 'green',
          values: scope.months.map((month) => ratio(month.laborCents, month.ratedHours)),
        },
      ],
    },
    extra: [
      { title: 'Labor sales', cells: scope.months.map((month) => moneyText(month.laborCents)) },
      { title: 'Hours', cells: scope.months.map((month) => hoursText(month.ratedHours)) },
    ],
    nothing: 'No hours have been sold yet.',
  }
}

/* Sales and gross profit by month, the pace of the current month, and the return per order and per hour. */
import type { DeclaredFigure } from '../../../../schema/figure.js'
import averageRepairOrder from '../../../../schema/figures/average_repair_order.js'
import effectiveLaborRate from '../../../../schema/figures/effective_labor_rate.js'
import grossMargin from '../../../../schema/figures/gross_margin.js'
import grossProfit from '../../../../schema/figures/gross_profit_cents.js'
import grossProfitPerHour from '../../../../schema/figures/gross_profit_per_hour.js'
import hoursPerOrder from '../../../../schema/figures/hours_per_order.js'
import hoursSold from '../../../../schema/figures/hours_sold.js'
import invoices from '../../../../schema/figures/invoices.js'
import sales from '../../../../schema/figures/sales_cents.js'
import { plural } from '../../../engine/base/format.js'
import { type Amounts, amountText, figureAmount, leftOutText } from '../amounts.js'
import { behindRemark, comparedWords } from '../answers.js'
import type { ChartColor, ChartSeries, Figure } from '../chart.js'
import type { PaceLine, RankedShop } from '../data.js'
import { moneyText } from '../numberwords.js'
import { aboutPartial, type FigureInput, lastWhole, lineOf, overMonths } from './overmonths.js'

const shopColors: readonly ChartColor[] = ['blue', 'sky', 'purple', 'green', 'grey']

/** Shops beyond this many are combined: more colors can't be told apart. */
const mostShops = 5

const added = (values: readonly (number | null)[]): number | null =>
  values.every((value) => value === null)
    ? null
    : values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

/** The shops with the most sales, and any others combined. */
function shopSeries(shops: readonly RankedShop[]): ChartSeries[] {
  const shown = shops.length > mostShops ? shops.slice(0, mostShops - 1) : shops
  const others = shops.slice(shown.length)
  const series: ChartSeries[] = shown.map(({ name, salesCents }, i) => ({
    name,
    color: shopColors[i] ?? 'grey',
    values: salesCents,
  }))
  if (others.length === 0) return series
  const values =
    others[0]?.salesCents.map((_, i) => added(others.map((shop) => shop.salesCents[i] ?? null))) ?? []
  return [...series, { name: `${plural(others.length, 'other shop')}`, color: 'grey', values }]
}

const marginWords = (amounts: Amounts): string =>
  figureAmount(amounts, grossMargin) === null ? '' : `, ${amountText(amounts, grossMargin)} gross margin`

export function salesFigure(input: FigureInput): Figure {
  const { scope } = input
  const last = lastWhole(input)
  const profit: ChartSeries = {
    name: grossProfit.label,
    color: 'orange',
    isLine: true,
    values: scope.months.map((month) => figureAmount(month, grossProfit)),
  }
  const tells = (figure: DeclaredFigure) => ({
    title: figure.label,
    cells: scope.months.map((month) => amountText(month, figure)),
  })
  return {
    id: 'sales',
    title:
      scope.byShop.length > 1
        ? 'Sales and gross profit by month and shop'
        : 'Sales and gross profit by month',
    finding: last ? `${last[0]}: ${amountText(last[1], sales)} of sales${marginWords(last[1])}.` : '',
    definition: `Sales: ${sales.doc} Gross profit: ${grossProfit.doc} It isn’t comparable with shop systems that subtract pay.`,
    leftOut: [
      ...leftOutText(scope.months, grossProfit),
      ...behindRemark(scope.behind, last?.[0] ?? 'the last month'),
      ...aboutPartial(scope.span),
    ],
    chart: {
      shape: 'columns',
      unit: 'money',
      ...overMonths(scope.span),
      series: [...shopSeries(scope.byShop), profit],
    },
    extra: [grossMargin, invoices].map(tells),
    isWide: true,
    nothing: 'No invoice has been closed yet.',
  }
}

const paceColors: readonly ChartColor[] = ['blue', 'orange', 'grey']

/** The current month, day by day, compared with the same days of earlier months. */
export function paceFigure({ scope }: FigureInput): Figure {
  const [now] = scope.pace
  const answer = scope.periods.find(({ period }) => period.id === 'month-to-date')
  const days = Math.max(0, ...scope.pace.map(({ cents }) => cents.length))
  const numbers = Array.from({ length: days }, (_, i) => String(i + 1))
  const isDrawn = ({ cents }: PaceLine): boolean => cents.some((value) => value !== null)
  const missing = scope.pace.slice(1).filter((line) => !isDrawn(line))
  const told = now?.cents.findLastIndex((cents) => cents !== null) ?? -1
  return {
    id: 'pace',
    title: now ? `Sales pace, ${now.name}` : 'Sales pace, this month',
    finding:
      answer && told >= 0
        ? `${answer.period.label}: ${moneyText(now?.cents[told] ?? 0)}${comparedWords(answer, sales)}.`
        : '',
    definition:
      'Sales from the first day of the month through each complete day, next to the month before and the same month a year ago. The lines include all shops; the percentages include only shops open in both periods.',
    leftOut: missing.map(({ name }) => `Not shown: ${name}, because the data begins later.`),
    chart: {
      shape: 'lines',
      unit: 'money',
      of: 'day',
      categories: numbers,
      ticks: numbers.map((day, i) => (i === 0 || (i + 1) % 5 === 0 ? day : '')),
      series: scope.pace.flatMap((line, i) =>
        missing.includes(line)
          ? []
          : [
              {
                name: line.name,
                color: paceColors[i] ?? 'grey',
                values: numbers.map((_, day) => line.cents[day] ?? null),
              },
            ],
      ),
    },
    extra: [],
    nothing: 'No day of this month is complete yet.',
  }
}

export const averageOrderFigure = (input: FigureInput): Figure =>
  lineOf(input, averageRepairOrder, {
    ...{ id: 'average-order', color: 'blue', unit: 'money' },
    beside: [sales, invoices],
  })

export const orderHoursFigure = (input: FigureInput): Figure =>
  lineOf(input, hoursPerOrder, {
    ...{ id: 'order-hours', color: 'purple', unit: 'hours' },
    beside: [hoursSold, invoices],
  })

export const laborRateFigure = (input: FigureInput): Figure =>
  lineOf(input, effectiveLaborRate, {
    ...{ id: 'labor-rate', color: 'green', unit: 'moneyToTheCent' },
    beside: [hoursSold],
  })

export const hourProfitFigure = (input: FigureInput): Figure =>
  lineOf(input, grossProfitPerHour, {
    ...{ id: 'hour-profit', color: 'orange', unit: 'moneyToTheCent' },
    beside: [grossProfit, hoursSold],
  })

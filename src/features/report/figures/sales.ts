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
import { type Amounts, amountText, figureAmount, leftOutText } from '../amounts.js'
import type { ChartColor, ChartSeries, Figure } from '../chart.js'
import type { PaceLine, ReportScope } from '../data.js'
import { hoursText, moneyText } from '../numberwords.js'
import { behindRemark, comparedWords, sameShopsWords } from '../periodanswers.js'
import { aboutPartial, type FigureInput, lastWhole, lineOf, overMonths } from './overmonths.js'

const shopColors: readonly ChartColor[] = ['blue', 'sky', 'purple', 'green', 'grey', 'rust', 'gold', 'pink']

/** One series for each shop or business; if there are too many, one for all. */
function soldSeries({ soldBy, months }: ReportScope): ChartSeries[] {
  if (soldBy.lines.length > 0)
    return soldBy.lines.map(({ name, salesCents }, i) => ({
      name,
      color: shopColors[i] ?? 'grey',
      values: salesCents,
    }))
  return [{ name: sales.label, color: 'blue', values: months.map((month) => figureAmount(month, sales)) }]
}

/** ` and shop`, or what else the columns are divided by. */
const dividedBy = ({ soldBy: { of, lines } }: ReportScope): string => (lines.length < 2 ? '' : ` and ${of}`)

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
    title: `Sales and gross profit by month${dividedBy(scope)}`,
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
      series: [...soldSeries(scope), profit],
    },
    extra: [grossMargin, invoices].map(tells),
    isWide: true,
    nothing: 'No invoice has been closed yet.',
  }
}

const paceColors: readonly ChartColor[] = ['blue', 'orange', 'grey']

/** From the last known day to the end of the month, in a straight line. */
function projected({ pace, projection }: ReportScope, days: number, told: number): ChartSeries[] {
  const sold = pace[0]?.cents[told]
  const last = (pace[0]?.cents.length ?? 0) - 1
  if (!projection || told < 0 || told >= last || sold === undefined || sold === null) return []
  const step = (projection.pace.cents - sold) / (last - told)
  const values = Array.from({ length: days }, (_, i) =>
    i < told || i > last ? null : Math.round(sold + step * (i - told)),
  )
  return [{ name: 'Projected', color: 'blue', values, isDashed: true }]
}

/** Which shops the lines are of, if not all. */
function aboutLines({ pace: [now], periods }: ReportScope, told: number): string {
  const running = periods.find(({ period }) => period.id === 'month-to-date')
  const same = running?.comparisons[0] ? sameShopsWords(running.comparisons[0]) : ''
  if (same === '' || told < 0) return 'The lines include all shops, as does the comparison.'
  return `The lines are of the ${same}, which sold ${moneyText(now?.cents[told] ?? 0)}, as is the comparison with the month before.`
}

/** How the projection is computed, and what the dashed line comes to if it is of fewer shops. */
function projectedWords({ projection }: ReportScope): string {
  const { all, pace } = projection ?? {}
  const line =
    all && pace && pace.shops < all.shops ? ` Of the shops in the lines: ≈ ${moneyText(pace.cents)}.` : ''
  return `Projected, and dashed: what each shop sold per open day so far, for each of its open days to come.${line}`
}

/** The current month, day by day, compared with the same days of earlier months. */
export function paceFigure({ scope }: FigureInput): Figure {
  const [now] = scope.pace
  const answer = scope.periods.find(({ period }) => period.id === 'month-to-date')
  const days = Math.max(0, ...scope.pace.map(({ cents }) => cents.length))
  const numbers = Array.from({ length: days }, (_, i) => String(i + 1))
  const isDrawn = ({ cents }: PaceLine): boolean => cents.some((value) => value !== null)
  const missing = scope.pace.slice(1).filter((line) => !isDrawn(line))
  const told = now?.cents.findLastIndex((cents) => cents !== null) ?? -1
  const lines = scope.pace.map(
    (line, i): ChartSeries => ({
      name: line.name,
      color: paceColors[i] ?? 'grey',
      values: numbers.map((_, day) => line.cents[day] ?? null),
    }),
  )
  const ahead = projected(scope, days, told)
  const { all } = scope.projection ?? {}
  return {
    id: 'pace',
    title: now ? `Sales pace, ${now.name}` : 'Sales pace, this month',
    finding:
      answer && told >= 0
        ? `${answer.period.label}: ${amountText(answer.amounts, sales)}${comparedWords(answer, sales)}.${all && ahead.length > 0 ? ` Projected for the month: ≈ ${moneyText(all.cents)}.` : ''}`
        : '',
    definition: `Sales from the first day of the month through each complete day, next to the month before and the same month a year ago. ${aboutLines(scope, told)}`,
    leftOut: [
      ...missing.map(
        ({ name }) => `Not shown: ${name}, because not all of these shops have data that far back.`,
      ),
      ...(all && ahead.length > 0 ? [projectedWords(scope)] : []),
    ],
    chart: {
      shape: 'lines',
      unit: 'money',
      of: 'day',
      categories: numbers,
      ticks: numbers.map((day, i) => (i === 0 || (i + 1) % 5 === 0 ? day : '')),
      series: [...lines.filter((_, i) => !missing.some((line) => line === scope.pace[i])), ...ahead],
    },
    extra: [],
    nothing: 'No day of this month is complete yet.',
  }
}

export const averageOrderFigure = (input: FigureInput): Figure =>
  lineOf(input, averageRepairOrder, {
    id: 'average-order',
    color: 'blue',
    unit: 'money',
    beside: [sales, invoices],
  })

export const orderHoursFigure = (input: FigureInput): Figure =>
  lineOf(input, hoursPerOrder, {
    id: 'order-hours',
    color: 'purple',
    unit: 'hours',
    beside: [hoursSold, invoices],
  })

export const laborRateFigure = (input: FigureInput): Figure =>
  lineOf(input, effectiveLaborRate, {
    id: 'labor-rate',
    color: 'green',
    unit: 'moneyToTheCent',
    per: { title: 'Hours with a labor rate', amount: hoursText },
  })

export const hourProfitFigure = (input: FigureInput): Figure =>
  lineOf(input, grossProfitPerHour, {
    id: 'hour-profit',
    color: 'orange',
    unit: 'moneyToTheCent',
    beside: [grossProfit],
    per: { title: 'Hours with a known profit', amount: hoursText },
  })

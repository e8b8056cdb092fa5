/* How long work took, and the outcome of recommendations, by month. */
import closeRate from '../../../../schema/figures/recommendation_close_rate.js'
import shareLate from '../../../../schema/figures/share_late.js'
import { count, plural } from '../../../engine/base/format.js'
import { amountText, denominatorText, noData } from '../amounts.js'
import type { ChartColor, Figure } from '../chart.js'
import { cycleBands, type ReportScope } from '../data.js'
import { moneyToTheCent, percentText, unknownMark } from '../numberwords.js'
import { aboutPartial, type FigureInput, lastWhole, overMonths, sumOf } from './overmonths.js'

type Advice = NonNullable<ReportScope['advice'][number]>

/** What the close rate counts. */
const countedOf = (a: Advice): number => a.soldAtOnce + a.soldLater + a.approvedUnsold
const allOf = (a: Advice): number => countedOf(a) + a.declined + a.undecided

export function adviceFigure({ scope }: FigureInput): Figure {
  const { advice: byMonth } = scope
  const advice = byMonth.flatMap((month) => month ?? [])
  const all = sumOf(advice, allOf)
  const unsold = sumOf(advice, ({ approvedUnsold }) => approvedUnsold)
  const without = sumOf(advice, ({ withoutValue }) => withoutValue)
  const series = (
    [
      ['Sold at once', 'blue', 'soldAtOnce'],
      ['Sold later', 'sky', 'soldLater'],
      ['Approved, on no order', 'gold', 'approvedUnsold'],
      ['Undecided', 'grey', 'undecided'],
      ['Declined', 'rust', 'declined'],
    ] as const
  ).map(([name, color, key]) => ({ name, color, values: byMonth.map((month) => month?.[key] ?? null) }))
  return {
    id: 'recommendations',
    title: 'Recommendations',
    finding:
      all > 0
        ? `${percentText(sumOf(advice, countedOf), all)} of ${count(all)} were approved or sold, at once or later${unsold > 0 ? `; of these, ${count(unsold)} ${unsold === 1 ? 'is' : 'are'} on no order` : ''}.`
        : '',
    definition: `By the month they were made. Sold later: declined or undecided at first, then added to an order. ${closeRate.label}: ${closeRate.doc}`,
    leftOut: [
      ...(without > 0
        ? [`Not in the values: ${plural(without, 'recommendation')} without a known price.`]
        : []),
      ...aboutPartial(scope.span),
    ],
    chart: { shape: 'columns', unit: 'count', ...overMonths(scope.span), series },
    extra: [
      {
        title: 'Value',
        cells: byMonth.map((month) => (month ? moneyToTheCent(month.valueCents) : unknownMark)),
      },
      {
        title: 'Close rate',
        cells: byMonth.map((a) => (a === null ? unknownMark : percentText(countedOf(a), allOf(a)))),
      },
    ],
    nothing: 'Nothing has been recommended yet.',
  }
}

const steps: readonly ChartColor[] = ['step1', 'step2', 'step3', 'step4', 'step5']

export function cycleFigure(input: FigureInput): Figure {
  const { scope } = input
  const { cycles } = scope
  const last = lastWhole(input)
  const totals = cycles.map(({ bands }) => sumOf(bands, (orders) => orders))
  const without = sumOf(cycles, ({ unknown }) => unknown)
  return {
    id: 'cycle-time',
    title: 'Cycle time',
    finding: last
      ? `${last[0]}: ${amountText(last[1], shareLate)} of orders with a promised time were late.`
      : '',
    definition: `How long it took from creating the order to picking up the car, in percent of the invoices closed in the month. Late: ${shareLate.doc}`,
    leftOut: [
      ...(without > 0
        ? [`Left out: ${plural(without, 'invoice')} not picked up yet or with a missing time.`]
        : []),
      ...aboutPartial(scope.span),
    ],
    chart: {
      shape: 'columns',
      unit: 'percent',
      isWhole: true,
      ...overMonths(scope.span),
      series: cycleBands.map((name, band) => ({
        name,
        color: steps[band] ?? 'grey',
        values: cycles.map(({ bands }, i) =>
          (totals[i] ?? 0) === 0 ? null : (100 * (bands[band] ?? 0)) / (totals[i] ?? 1),
        ),
      })),
    },
    extra: [
      {
        title: 'Orders',
        cells: totals.map((orders, i) => (scope.months[i] === noData ? unknownMark : count(orders))),
      },
      { title: shareLate.label, cells: scope.months.map((month) => amountText(month, shareLate)) },
      {
        title: 'With a promised time',
        cells: scope.months.map((month) => denominatorText(month, shareLate, count)),
      },
    ],
    nothing: 'No order has been picked up yet.',
  }
}

/* What figures over the report's months share. */
import type { DeclaredFigure } from '../../../../schema/figure.js'
import { type Amounts, amountText, denominatorText, figureAmount, leftOutText, noData } from '../amounts.js'
import type { Chart, ChartColor, ChartUnit, Figure } from '../chart.js'
import type { ReportMonth, ReportScope } from '../data.js'
import { monthInFull, monthInShort } from '../numberwords.js'

export interface FigureInput {
  readonly lastMonth: number | null
  readonly scope: ReportScope
}

export const sumOf = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)

/** With many months, every third one is named. The year is below January. */
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

/** The months whose numbers will still grow, in a sentence; nothing if all are complete. */
export function aboutPartial(months: readonly ReportMonth[]): string[] {
  const names = months.filter(({ isPartial }) => isPartial).map(({ month }) => monthInFull(month))
  if (names.length === 0) return []
  return [
    `${names.join(', ').replace(/, (?=[^,]*$)/, ' and ')} ${names.length === 1 ? 'is' : 'are'} incomplete, and shown hatched or as a hollow point.`,
  ]
}

/** The month that findings are about, and its amounts; none if the data begins later. */
export function lastWhole({
  lastMonth,
  scope,
}: FigureInput): readonly [month: string, amounts: Amounts] | undefined {
  const month = lastMonth === null ? undefined : scope.span[lastMonth]
  const amounts = lastMonth === null ? undefined : scope.months[lastMonth]
  return month && amounts && amounts !== noData ? [monthInFull(month.month), amounts] : undefined
}

/** A declared figure over the months as a line; the definition is the figure's own. */
export function lineOf(
  input: FigureInput,
  figure: DeclaredFigure,
  {
    id,
    color,
    unit,
    beside = [],
    per,
  }: {
    readonly id: string
    readonly color: ChartColor
    readonly unit: ChartUnit
    /** Figures next to it in the table. */
    readonly beside?: readonly DeclaredFigure[]
    /** What it is divided by, which is not a figure of its own: only what its numerator covers. */
    readonly per?: { readonly title: string; readonly amount: (value: number) => string }
  },
): Figure {
  const { scope } = input
  const last = lastWhole(input)
  const now = last && figureAmount(last[1], figure)
  return {
    id,
    title: figure.label,
    finding: last && now !== undefined && now !== null ? `${last[0]}: ${amountText(last[1], figure)}.` : '',
    definition: figure.doc,
    leftOut: [...leftOutText(scope.months, figure), ...aboutPartial(scope.span)],
    chart: {
      shape: 'lines',
      unit,
      ...overMonths(scope.span),
      series: [
        { name: figure.label, color, values: scope.months.map((month) => figureAmount(month, figure)) },
      ],
    },
    extra: [
      ...beside.map((other) => ({
        title: other.label,
        cells: scope.months.map((month) => amountText(month, other)),
      })),
      ...(per
        ? [
            {
              title: per.title,
              cells: scope.months.map((month) => denominatorText(month, figure, per.amount)),
            },
          ]
        : []),
    ],
    nothing: 'No invoice has been closed yet.',
  }
}

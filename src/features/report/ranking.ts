/*
 * Rankings and short lists: who and what contributed in a period. The table is the drawing: its first column of numbers
 * has bars (page/reportpage.ts).
 */
import type { DeclaredFigure } from '../../../schema/figure.js'
import averageRepairOrder from '../../../schema/figures/average_repair_order.js'
import cars from '../../../schema/figures/cars.js'
import grossMargin from '../../../schema/figures/gross_margin.js'
import grossProfit from '../../../schema/figures/gross_profit_cents.js'
import hoursSold from '../../../schema/figures/hours_sold.js'
import invoices from '../../../schema/figures/invoices.js'
import partsMargin from '../../../schema/figures/parts_margin.js'
import sales from '../../../schema/figures/sales_cents.js'
import serviceSales from '../../../schema/figures/service_sales_cents.js'
import technicianHours from '../../../schema/figures/technician_hours.js'
import { count, plural } from '../../engine/base/format.js'
import { addedAmounts, amountText, changeOf, figureAmount, leftOutText } from './amounts.js'
import { overdueAges, type PeriodAnswer, type RankedLine, type ReportScope } from './data.js'
import { moneyText, percentOf, percentText, unknownMark } from './numberwords.js'

export interface Ranking {
  readonly id: string
  readonly title: string
  readonly finding: string
  readonly definition: string
  readonly leftOut: readonly string[]
  /** The heading of the names. */
  readonly of: string
  readonly columns: readonly string[]
  /** `bar`: 0 to 1, for the first column; null if it has none. */
  readonly rows: readonly {
    readonly name: string
    readonly bar: number | null
    readonly cells: readonly {
      readonly text: string
      /** The number to copy, if the text is rounded. */
      readonly value?: string
    }[]
  }[]
  readonly nothing: string
  /** The last column contains sentences, which a phone shows below each other. */
  readonly isWordy?: boolean
}

/** Lines beyond this many are combined into one. */
const mostLines = 10

const isMoney = ({ unit }: DeclaredFigure): boolean => unit === 'cents' || unit === 'cents per hour'

export function cellOf(
  amounts: RankedLine['amounts'],
  figure: DeclaredFigure,
): Ranking['rows'][number]['cells'][number] {
  const value = figureAmount(amounts, figure)
  if (value === null) return { text: unknownMark }
  return {
    text: amountText(amounts, figure),
    value: isMoney(figure) ? (value / 100).toFixed(2) : String(value),
  }
}

/** All others combined have no bar: next to it, those of the first lines would be too short to see. */
type Line = RankedLine & { readonly isRest?: true }

/** The first lines, and all others combined. */
function shortened(lines: readonly RankedLine[], noun: string): readonly Line[] {
  if (lines.length <= mostLines + 1) return lines
  const rest = lines.slice(mostLines)
  const others: Line = {
    isRest: true,
    key: null,
    name: `${count(rest.length)} other ${noun}`,
    amounts: addedAmounts(rest.map(({ amounts }) => amounts)),
  }
  return [...lines.slice(0, mostLines), others]
}

/** Lines with bars for one figure, and other figures next to it. */
function rowsOf(
  lines: readonly Line[],
  figures: readonly DeclaredFigure[],
  change?: DeclaredFigure,
): Ranking['rows'] {
  const [first] = figures
  const values = lines.map(({ amounts }) => (first ? figureAmount(amounts, first) : null))
  const most = Math.max(0, ...values.map((value, i) => (lines[i]?.isRest ? 0 : (value ?? 0))))
  return lines.map(({ name, amounts, before, isRest }, i) => {
    const value = values[i] ?? null
    const cells = figures.map((figure) => cellOf(amounts, figure))
    const trend = change && before ? changeOf(amounts, before, change) : null
    return {
      name,
      bar: value === null || most === 0 || isRest ? null : Math.max(0, value / most),
      cells: change ? [...cells, { text: trend?.text ?? unknownMark }] : cells,
    }
  })
}

const named = (lines: readonly RankedLine[], nobody: string): RankedLine[] =>
  lines.map((line) => (line.key === null ? { ...line, name: nobody } : line))

const comparedTo = ({ period }: PeriodAnswer): string =>
  period.compared[0] ? `vs. ${period.compared[0].words}` : 'change'

export function shopsRanking(answer: PeriodAnswer): Ranking {
  const figures = [sales, grossProfit, grossMargin, averageRepairOrder, cars, hoursSold]
  return {
    id: 'shops',
    title: `Shops, ${answer.period.label}`,
    finding: '',
    definition: 'Definitions as above. Changes include a shop only if it was open in both periods.',
    leftOut: leftOutText([answer.amounts], grossProfit),
    of: 'shop',
    columns: [...figures.map(({ label }) => label), comparedTo(answer)],
    rows: rowsOf(named(answer.shops, 'no shop'), figures, sales),
    nothing: 'No invoices were closed.',
  }
}

export function advisorsRanking({ period, advisors }: PeriodAnswer): Ranking {
  const figures = [grossProfit, sales, grossMargin, averageRepairOrder, invoices]
  return {
    id: 'advisors',
    title: `Gross profit by advisor, ${period.label}`,
    finding: '',
    definition: `By the advisor on the order. ${grossProfit.doc}`,
    leftOut: leftOutText(
      advisors.map(({ amounts }) => amounts),
      grossProfit,
    ),
    of: 'advisor',
    columns: figures.map(({ label }) => label),
    rows: rowsOf(shortened(named(advisors, 'no advisor'), 'advisors'), figures),
    nothing: 'No invoices were closed.',
  }
}

export function techniciansRanking(answer: PeriodAnswer): Ranking {
  const { period, technicians } = answer
  const sum = addedAmounts(technicians.map(({ amounts }) => amounts))
  const people = technicians.filter(
    ({ key, amounts }) => key !== null && (figureAmount(amounts, technicianHours) ?? 0) > 0,
  )
  return {
    id: 'technicians',
    title: `Hours sold by technician, ${period.label}`,
    finding:
      people.length > 0
        ? `${amountText(sum, technicianHours)} hours by ${plural(people.length, 'technician')}.`
        : '',
    definition: technicianHours.doc,
    leftOut: leftOutText([sum], technicianHours),
    of: 'technician',
    columns: ['Hours', comparedTo(answer)],
    rows: rowsOf(
      shortened(named(technicians, 'no technician'), 'technicians'),
      [technicianHours],
      technicianHours,
    ),
    nothing: 'No hours were sold.',
  }
}

export function categoriesRanking({ period, categories }: PeriodAnswer): Ranking {
  const sum = figureAmount(addedAmounts(categories.map(({ amounts }) => amounts)), serviceSales) ?? 0
  const lines = shortened(named(categories, 'no category'), 'categories')
  return {
    id: 'categories',
    title: `Sales by service category, ${period.label}`,
    finding: '',
    definition: serviceSales.doc,
    leftOut: [],
    of: 'category',
    columns: ['Sales', 'Share'],
    rows: rowsOf(lines, [serviceSales]).map((row, i) => ({
      ...row,
      cells: [...row.cells, { text: percentText(figureAmount(lines[i]?.amounts, serviceSales) ?? 0, sum) }],
    })),
    nothing: 'Nothing was sold.',
  }
}

/** `0 under 5`, as the view sorts it: drops the number and adds dollar signs. */
const bandName = (band: string): string =>
  /^\d /.test(band)
    ? `$${band
        .slice(2)
        .replace(/(\d) to (\d)/, '$1 to $$$2')
        .replace(/^under /, 'under $')}`.replace('$under', 'under')
    : band

export function marginRanking({ period, costBands }: PeriodAnswer): Ranking {
  const sum = addedAmounts(costBands.map(({ amounts }) => amounts))
  const known = costBands.filter(({ key }) => key !== 'unknown')
  return {
    id: 'parts-margin',
    title: `Parts margin by unit cost, ${period.label}`,
    finding:
      figureAmount(sum, partsMargin) === null ? '' : `${amountText(sum, partsMargin)} across all parts.`,
    definition: partsMargin.doc,
    leftOut: leftOutText([sum], partsMargin),
    of: 'unit cost',
    columns: ['Margin', 'Sold'],
    rows: rowsOf(known, [partsMargin]).map((row, i) => {
      const cents = known[i]?.amounts.get(partsMargin.name)?.denominator ?? 0
      return {
        ...row,
        name: bandName(row.name),
        cells: [...row.cells, { text: moneyText(cents), value: (cents / 100).toFixed(2) }],
      }
    }),
    nothing: 'No parts were sold.',
  }
}

export function receivablesRanking({ receivables, needs }: ReportScope): Ranking {
  const ages = ['0 to 30', ...overdueAges, ...(receivables.some(({ bucket }) => bucket === '') ? [''] : [])]
  const lines = ages.map((age) => receivables.find(({ bucket }) => bucket === age))
  const sum = (of: typeof lines): number => of.reduce((cents, line) => cents + (line?.cents ?? 0), 0)
  const all = sum(lines)
  const { unknown, atLeastCents, overpaid } = needs.receivables
  const most = Math.max(0, ...lines.map((line) => line?.cents ?? 0))
  return {
    id: 'receivables',
    title: 'Receivables by age',
    finding:
      all > 0
        ? `${moneyText(all)} to collect, ${percentText(sum(lines.slice(1, 4)), all)} of it over 30 days old.`
        : '',
    definition: 'What customers owe on invoices. Credits, which shops owe to customers, are not subtracted.',
    leftOut: [
      ...(unknown > 0
        ? [
            `Left out: ${plural(unknown, 'invoice')} whose total isn’t known in full, with at least ${moneyText(atLeastCents)} owed.`,
          ]
        : []),
      ...(overpaid > 0
        ? [
            `Credits are not included: ${moneyText(needs.creditCents)} on ${plural(overpaid, 'overpaid invoice')}.`,
          ]
        : []),
    ],
    of: 'days since closing',
    columns: ['To collect', 'Invoices', 'More with an unknown total'],
    rows:
      all === 0 && unknown === 0
        ? []
        : ages.map((age, i) => ({
            name: age === '' ? 'not known' : `${age} days`,
            bar: most === 0 ? null : (lines[i]?.cents ?? 0) / most,
            cells: [
              { text: moneyText(lines[i]?.cents ?? 0), value: ((lines[i]?.cents ?? 0) / 100).toFixed(2) },
              { text: count(lines[i]?.invoices ?? 0) },
              { text: count(lines[i]?.unknown ?? 0) },
            ],
          })),
    nothing: 'Nothing is owed.',
  }
}

/** In the order in which customers are lost. */
const standings = ['active', 'lapsing', 'lost'] as const

export function standingRanking(scope: ReportScope): Ranking {
  const of = (standing: string) => scope.standings.find((line) => line.standing === standing)
  const never = of('never')?.customers ?? 0
  const counts = standings.map((standing) => of(standing)?.customers ?? 0)
  const visited = counts.reduce((sum, customers) => sum + customers, 0)
  const most = Math.max(0, ...counts)
  return {
    id: 'standing',
    title: 'Customers by their last visit',
    finding:
      visited > 0
        ? counts[1] === 0
          ? 'Nobody is lapsing.'
          : `${percentOf((100 * (counts[1] ?? 0)) / visited)} are lapsing. A call may bring them back.`
        : '',
    definition:
      'All customers who ever had an invoice, by the date of their last one. Active: up to 180 days ago. Lapsing: up to a year ago. Lost: longer ago.',
    leftOut: never > 0 ? [`Left out: ${plural(never, 'customer')} with no invoice.`] : [],
    of: 'last visit',
    columns: ['Customers', 'Lifetime sales'],
    rows:
      visited === 0
        ? []
        : standings.map((standing, i) => {
            const cents = of(standing)?.salesCents ?? 0
            return {
              name: standing,
              bar: most === 0 ? null : (counts[i] ?? 0) / most,
              cells: [
                { text: count(counts[i] ?? 0) },
                { text: moneyText(cents), value: (cents / 100).toFixed(2) },
              ],
            }
          }),
    nothing: 'No customer has had an invoice yet.',
  }
}

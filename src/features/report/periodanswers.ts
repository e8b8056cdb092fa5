/* The answers for a period: for the last open day, and for a month or more. */
import type { DeclaredFigure } from '../../../schema/figure.js'
import averageRepairOrder from '../../../schema/figures/average_repair_order.js'
import cars from '../../../schema/figures/cars.js'
import collected from '../../../schema/figures/collected_cents.js'
import deposits from '../../../schema/figures/deposits_cents.js'
import effectiveLaborRate from '../../../schema/figures/effective_labor_rate.js'
import grossMargin from '../../../schema/figures/gross_margin.js'
import grossProfit from '../../../schema/figures/gross_profit_cents.js'
import grossProfitPerHour from '../../../schema/figures/gross_profit_per_hour.js'
import invoices from '../../../schema/figures/invoices.js'
import sales from '../../../schema/figures/sales_cents.js'
import { count, plural } from '../../engine/base/format.js'
import { amountText, changeOf, figureAmount, leftOutOf, leftOutText, noData } from './amounts.js'
import type { PeriodAnswer, PeriodComparison, ReportScope } from './data.js'
import { type Fact, fact, type QuestionAnswer } from './fact.js'
import { moneyText } from './numberwords.js'

const trendsOf = (answer: PeriodAnswer, figure: DeclaredFigure): Fact['trends'] =>
  answer.comparisons.flatMap(({ words, label, now, before, shops, shopsLeftOut }) => {
    const trend = changeOf(now, before, figure)
    return trend === null ? [] : [{ words, label, shops, shopsLeftOut, trend }]
  })

export const noMonth: QuestionAnswer = {
  id: 'month',
  question: 'How was last month?',
  sentence: 'No invoice has been closed yet.',
  tone: 'watch',
  facts: [],
  remarks: [],
}

/** The answer for a period: what the shops sold, compared with the same shops before. */
export function periodQuestion(
  answer: PeriodAnswer,
  { behind, shopsWithoutInvoices, projection }: ReportScope,
): QuestionAnswer {
  const { period, amounts } = answer
  if (amounts === noData)
    return {
      ...noMonth,
      question: period.question,
      sentence: `${period.label}: no data. The first invoice was closed later.`,
    }
  const isAlike = answer.comparisons.every(({ shopsLeftOut }) => shopsLeftOut === 0)
  return {
    id: 'month',
    question: period.question,
    sentence: `${period.label}: ${amountText(amounts, sales)} of sales${comparedWords(answer, sales)}.`,
    tone: trendsOf(answer, sales).some(({ trend }) => trend.direction === 'down') ? 'watch' : 'good',
    facts: [
      ...periodFacts(answer),
      ...(projection && period.id === 'month-to-date' ? [projectedFact(projection.all)] : []),
    ],
    remarks: [
      'Sales are before supply fees and taxes, after discounts. Gross profit is before technicians’ pay, so it isn’t comparable with shop systems that subtract pay.',
      ...leftOutText([amounts], sales),
      ...leftOutText([amounts], grossProfit),
      cars.doc,
      ...(isAlike
        ? []
        : [
            'Changes compare the same shops: a shop counts only if it was open and has data from before the earlier period, or from its first three days.',
          ]),
      ...(shopsWithoutInvoices > 0 ? [`${plural(shopsWithoutInvoices, 'shop')} with no invoice yet.`] : []),
      ...notCompared(answer),
      ...behindRemark(behind, period.label),
    ],
  }
}

/** Earlier periods for which no shop has all data. */
const notCompared = ({ period, comparisons }: PeriodAnswer): string[] =>
  period.compared
    .filter(({ words }) => !comparisons.some((one) => one.words === words))
    .map(({ words }) => `Not compared with ${words}: no shop has data that far back.`)

/** Tenants whose data ends before the month does. */
export const behindRemark = (behind: number, month: string): string[] =>
  behind === 0 ? [] : [`For ${plural(behind, 'business')}, the data ends before ${month} does.`]

/** A figure of a period, with its changes. */
const telling =
  (answer: PeriodAnswer) =>
  (figure: DeclaredFigure, ...notes: readonly string[]): Fact => ({
    ...fact(figure.label, amountText(answer.amounts, figure), ...notes),
    trends: trendsOf(answer, figure),
  })

function periodFacts(answer: PeriodAnswer): Fact[] {
  const { amounts } = answer
  const without = leftOutOf(amounts, grossProfit)
  const tells = telling(answer)
  return [
    tells(sales, plural(figureAmount(amounts, invoices) ?? 0, 'invoice')),
    tells(
      grossProfit,
      figureAmount(amounts, grossMargin) === null ? '' : `${amountText(amounts, grossMargin)} gross margin`,
      without > 0 ? `leaves out ${plural(without, 'invoice')}` : '',
    ),
    tells(averageRepairOrder),
    tells(cars),
    tells(grossProfitPerHour),
    tells(effectiveLaborRate),
  ]
}

const sides = { up: 'above', down: 'below', level: 'the same as' } as const

/** `same 5 of 7 shops`: what a comparison is about; nothing if it is about all shops. */
export const sameShopsWords = ({
  shops,
  shopsLeftOut,
}: Pick<PeriodComparison, 'shops' | 'shopsLeftOut'>): string =>
  shopsLeftOut > 0 ? `same ${count(shops)} of ${plural(shops + shopsLeftOut, 'shop')}` : ''

/** `, 3.0% above the year before (same 5 of 7 shops)`; nothing if there is nothing to compare. */
export function comparedWords(answer: PeriodAnswer, figure: DeclaredFigure): string {
  const comparisons = trendsOf(answer, figure).map(({ words, trend: { text, direction }, ...of }) => {
    const same = sameShopsWords(of)
    const size = direction === 'level' ? '' : `${text.replace(/^[+−]/, '')} `
    return `${size}${sides[direction]} ${words}${same === '' ? '' : ` (${same})`}`
  })
  return comparisons.length > 0 ? `, ${comparisons.join(' and ')}` : ''
}

/** A sum that nobody has sold yet, marked as such. */
const projectedFact = ({
  cents,
  openDays,
  daysAhead,
  shops,
}: NonNullable<ReportScope['projection']>['all']): Fact =>
  fact(
    'Projected for the month',
    `≈ ${moneyText(cents)}`,
    `from ${plural(openDays, 'open day')}${shops > 1 ? ` of ${plural(shops, 'shop')}` : ''} so far, ${count(daysAhead)} to come`,
  )

/** How a projection is computed. */
const projectionRemark =
  'Projected: the average of a shop’s open days this month, for each open day to come. A shop counts as open on a weekday on which it was open at least every other time in the last four weeks.'

/** The first question: how the last day went on which a shop was open. */
export function dayQuestion({ day, projection }: ReportScope): QuestionAnswer {
  const head = { id: 'yesterday', question: day?.period.question ?? 'How was yesterday?' } as const
  if (day === null || day.amounts === noData)
    return { ...head, sentence: 'No shop was open.', tone: 'watch', facts: [], remarks: [] }
  const { period, amounts } = day
  const tells = telling(day)
  const sold = figureAmount(amounts, invoices) ?? 0
  const [before] = period.compared
  return {
    ...head,
    sentence:
      sold === 0
        ? `${period.label}: no invoices were closed.`
        : `${period.label}: ${amountText(amounts, sales)} of sales${comparedWords(day, sales)}.`,
    tone: trendsOf(day, sales).some(({ trend }) => trend.direction === 'down') ? 'watch' : 'good',
    facts: [
      tells(sales, plural(sold, 'invoice')),
      tells(cars),
      tells(averageRepairOrder),
      tells(collected),
      tells(deposits, 'part of what was collected'),
      ...(projection ? [projectedFact(projection.all)] : []),
    ],
    remarks: [
      `Compared with ${before?.words ?? 'the week before'}${before ? `, ${before.label}` : ''}. Nothing is compared with a day on which there was none of it.`,
      `${collected.label}: ${collected.doc} ${deposits.label}: ${deposits.doc}`,
      ...leftOutText([amounts], collected),
      ...(projection ? [projectionRemark] : []),
    ],
  }
}

/*
 * The three questions at the top of the report, answered: a sentence, and the figures behind it. The page shows them as
 * cards (src/features/report/page/reportpage.ts), the demo as text (reporttext.ts).
 */

import type { DeclaredFigure } from '../../../schema/figure.js'
import averageRepairOrder from '../../../schema/figures/average_repair_order.js'
import cars from '../../../schema/figures/cars.js'
import effectiveLaborRate from '../../../schema/figures/effective_labor_rate.js'
import grossMargin from '../../../schema/figures/gross_margin.js'
import grossProfit from '../../../schema/figures/gross_profit_cents.js'
import grossProfitPerHour from '../../../schema/figures/gross_profit_per_hour.js'
import invoices from '../../../schema/figures/invoices.js'
import sales from '../../../schema/figures/sales_cents.js'
import { count, plural } from '../../engine/base/format.js'
import { amountText, changeOf, figureAmount, leftOutOf, leftOutText, noData } from './amounts.js'
import type { NamedOrder, PeriodAnswer, ReportData, ReportScope, TrustAnswer } from './data.js'
import { dayInFull, moneyText, moneyToTheCent, percentOfAll, type Trend, unknownMark } from './numberwords.js'
import { type Tone, trustSentence } from './trustsentence.js'

export interface Fact {
  readonly label: string
  readonly value: string
  readonly notes: readonly string[]
  readonly trends: readonly {
    readonly words: string
    /** `Sep 2026`. */
    readonly label: string
    readonly shopsLeftOut: number
    readonly trend: Trend
  }[]
}

export interface QuestionAnswer {
  readonly id: 'trust' | 'month' | 'today'
  readonly question: string
  readonly sentence: string
  readonly tone: Tone
  readonly facts: readonly Fact[]
  /** What the words in the facts mean, and what none of them includes. */
  readonly remarks: readonly string[]
  readonly orders: readonly {
    readonly title: string
    readonly about: string
    readonly list: readonly NamedOrder[]
  }[]
}

const fact = (label: string, value: string, ...notes: readonly string[]): Fact => ({
  label,
  value,
  notes: notes.filter((note) => note !== ''),
  trends: [],
})

export const answersOf = (data: ReportData, scope: ReportScope): readonly QuestionAnswer[] => [
  trustOf(scope.trust, data.madeAt),
  scope.periods[0] ? periodQuestion(scope.periods[0], scope) : noMonth,
  todayOf(scope),
]

/** The progress of lists that are read completely once. */
function refillNote({ lists, begun, read, of }: TrustAnswer['refilling']): string {
  if (lists === 0) return ''
  const reached =
    begun > 0 ? `: ${count(read)} of ${count(of)} records of ${plural(begun, 'list')} so far` : ''
  return `${plural(lists, 'list')} to be read again in full${reached}`
}

function trustOf(trust: TrustAnswer, madeAt: string): QuestionAnswer {
  const {
    lists,
    unavailable,
    verdicts,
    totals,
    quarantined,
    deletesCheckedAt,
    deletesUnchecked,
    oldest,
    payments,
  } = trust
  const checked = totals.equal + totals.rounding + totals.more
  const sure = verdicts.proven + verdicts.repaired
  const listed =
    verdicts.listed > 0 ? `${count(verdicts.listed)} read to the end, but the source’s count is wrong` : ''
  return {
    id: 'trust',
    question: 'Can I trust it?',
    ...trustSentence(trust, madeAt),
    facts: [
      fact(
        'Proven complete',
        `${count(sure)} of ${count(lists + unavailable)} lists`,
        'the lists behind these figures',
        listed,
        unavailable > 0 ? `${count(unavailable)} unavailable: the API answers 404` : '',
        refillNote(trust.refilling),
        oldest ? `oldest: ${oldest.resource} of ${oldest.tenant}` : '',
      ),
      fact(
        'Payments match totals',
        percentOfAll(totals.equal, checked),
        checked > 0 ? `of ${plural(checked, 'paid invoice')}` : 'no paid invoice yet',
        totals.more > 0 ? `${count(totals.more)} off by more than rounding` : '',
        payments.differ > 0
          ? `on ${count(payments.differ)} of ${plural(payments.orders, 'order')}, payments differ from the list of payments, by ${moneyToTheCent(payments.differenceCents)} in total (view payments_check)`
          : '',
      ),
      fact(
        'Deletions checked',
        deletesCheckedAt === null ? unknownMark : dayInFull(deletesCheckedAt),
        deletesUnchecked > 0
          ? `not recently in ${plural(deletesUnchecked, 'list')}: run shopsync reconcile`
          : '',
      ),
      fact(
        'In quarantine',
        plural(quarantined, 'value'),
        quarantined > 0 ? 'could not be stored as sent' : '',
      ),
    ],
    remarks: [
      'A list is one kind of record of one business. Only lists behind these figures count here. A list is proven complete when the records read match the source’s count. Values in quarantine could not be stored as sent.',
      `Payments are compared on invoices with a known total and a payment. Left out: ${plural(totals.unpaid, 'unpaid invoice')}, ${count(totals.unknown)} with an unknown total.`,
    ],
    orders: [],
  }
}

const trendsOf = (answer: PeriodAnswer, figure: DeclaredFigure): Fact['trends'] =>
  answer.comparisons.flatMap(({ words, label, now, before, shopsLeftOut }) => {
    const trend = changeOf(now, before, figure)
    return trend === null ? [] : [{ words, label, shopsLeftOut, trend }]
  })

const noMonth: QuestionAnswer = {
  id: 'month',
  question: 'How was last month?',
  sentence: 'No invoice has been closed yet.',
  tone: 'watch',
  facts: [],
  remarks: [],
  orders: [],
}

/** The answer for a period: what the shops sold, compared with the same shops before. */
export function periodQuestion(
  answer: PeriodAnswer,
  { behind, shopsWithoutInvoices }: ReportScope,
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
    facts: periodFacts(answer),
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
    orders: [],
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

function periodFacts(answer: PeriodAnswer): Fact[] {
  const { amounts } = answer
  const without = leftOutOf(amounts, grossProfit)
  const tells = (figure: DeclaredFigure, ...notes: readonly string[]): Fact => ({
    ...fact(figure.label, amountText(amounts, figure), ...notes),
    trends: trendsOf(answer, figure),
  })
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

/** `, 3.0% above the year before (without 2 newer shops)`; nothing if there is nothing to compare. */
export function comparedWords(answer: PeriodAnswer, figure: DeclaredFigure): string {
  const comparisons = trendsOf(answer, figure).map(({ words, shopsLeftOut, trend: { text, direction } }) => {
    const newer = shopsLeftOut > 0 ? ` (without ${plural(shopsLeftOut, 'newer shop')})` : ''
    const size = direction === 'level' ? '' : `${text.replace(/^[+−]/, '')} `
    return `${size}${sides[direction]} ${words}${newer}`
  })
  return comparisons.length > 0 ? `, ${comparisons.join(' and ')}` : ''
}

function todayOf({ needs }: ReportScope): QuestionAnswer {
  const { inProgress, estimates, late, overdue, receivables, creditCents, undecided } = needs
  const hidden =
    overdue.unknown > 0
      ? `${count(overdue.unknown)} more with an unknown total${overdue.atLeastCents > 0 ? `, at least ${moneyText(overdue.atLeastCents)}` : ''}`
      : ''
  const credits =
    receivables.overpaid > 0
      ? `credits of ${moneyText(creditCents)} on ${plural(receivables.overpaid, 'invoice')} not included`
      : ''
  return {
    id: 'today',
    question: 'What needs attention today?',
    ...todaySentence(needs),
    facts: [
      fact(
        'Late',
        plural(late.orders, 'order'),
        `${plural(inProgress.orders, 'order')} in progress${inProgress.salesCents === null ? '' : ` worth ${moneyText(inProgress.salesCents)}`}`,
        plural(estimates, 'open estimate'),
      ),
      fact(
        'Overdue',
        moneyText(overdue.cents),
        plural(overdue.invoices, 'invoice'),
        `of ${moneyText(receivables.cents)} owed`,
        hidden,
        credits,
      ),
      fact(
        'Undecided',
        plural(undecided.count, 'recommendation'),
        `worth ${moneyText(undecided.valueCents)}`,
        undecided.withoutValue > 0 ? `${count(undecided.withoutValue)} without a known price` : '',
      ),
    ],
    remarks: [
      'Late: an estimate or an order in progress past its promised time. Overdue: closed more than 30 days ago and not paid in full. Credits for overpayment are not subtracted. Undecided: recommended in the last 90 days, neither approved nor declined.',
    ],
    orders: [
      { title: 'Longest past the promised time', about: 'days in the shop', list: needs.lateOrders },
      { title: 'Largest overdue invoices', about: 'days since closing', list: needs.overdueOrders },
    ].filter(({ list }) => list.length > 0),
  }
}

function todaySentence({ late, overdue, undecided }: ReportScope['needs']): {
  readonly sentence: string
  readonly tone: Tone
} {
  const tasks = [
    late.orders > 0 ? `${plural(late.orders, 'order')} past the promised time` : '',
    overdue.invoices > 0 ? `${moneyText(overdue.cents)} to collect` : '',
    undecided.count > 0 ? `${plural(undecided.count, 'recommendation')} to follow up` : '',
  ].filter((task) => task !== '')
  if (tasks.length === 0) return { sentence: 'Nothing is late, overdue or undecided.', tone: 'good' }
  const [first = '', ...rest] = tasks
  const list = rest.length === 0 ? first : `${tasks.slice(0, -1).join(', ')} and ${tasks.at(-1) ?? ''}`
  return {
    sentence: `${list.charAt(0).toUpperCase()}${list.slice(1)}.`,
    tone: late.orders > 0 ? 'bad' : 'watch',
  }
}

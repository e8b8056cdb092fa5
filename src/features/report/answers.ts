/*
 * The three questions that the report begins with, answered: a sentence, and the figures behind it. The page shows them
 * as cards (src/features/report/page/reportpage.ts), the demo as text (reporttext.ts).
 */
import { count, plural } from '../../engine/base/format.js'
import type { MonthNumbers, NamedOrder, ReportData, ReportScope, TrustAnswer } from './data.js'
import {
  dayInFull,
  moneyText,
  moneyToTheCent,
  monthInFull,
  monthInShort,
  percentOfAll,
  percentText,
  ratio,
  type Trend,
  trendOf,
  unknownMark,
} from './numberwords.js'
import { type Tone, trustSentence } from './trustsentence.js'

export interface Fact {
  readonly label: string
  readonly value: string
  readonly notes: readonly string[]
  readonly trends: readonly { readonly words: string; readonly month: string; readonly trend: Trend }[]
}

export interface QuestionAnswer {
  readonly id: 'trust' | 'month' | 'today'
  readonly question: string
  readonly sentence: string
  readonly tone: Tone
  readonly facts: readonly Fact[]
  /** What the words of the facts mean, and what is in none of them. */
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
  monthOf(data, scope),
  todayOf(scope),
]

/** How far the lists are that are read whole once. */
function refillNote({ lists, begun, read, of }: TrustAnswer['refilling']): string {
  if (lists === 0) return ''
  const reached =
    begun > 0 ? `: ${count(read)} of ${count(of)} records of ${plural(begun, 'list')} so far` : ''
  return `${plural(lists, 'list')} to be read whole once${reached}`
}

function trustOf(trust: TrustAnswer, madeAt: string): QuestionAnswer {
  const { lists, verdicts, totals, quarantined, deletesCheckedAt, deletesUnchecked, oldest, payments } = trust
  const checked = totals.equal + totals.rounding + totals.more
  const sure = verdicts.proven + verdicts.repaired
  const listed = verdicts.listed > 0 ? `${count(verdicts.listed)} read to the end, without a true count` : ''
  return {
    id: 'trust',
    question: 'Can I trust it?',
    ...trustSentence(trust, madeAt),
    facts: [
      fact(
        'Proven complete',
        `${count(sure)} of ${count(lists)} lists`,
        listed,
        refillNote(trust.refilling),
        oldest ? `oldest: ${oldest.resource} of ${oldest.tenant}` : '',
      ),
      fact(
        'Totals equal to payments',
        percentOfAll(totals.equal, checked),
        checked > 0 ? `of ${plural(checked, 'paid invoice')}` : 'no paid invoice yet',
        totals.more > 0 ? `${count(totals.more)} off by more than rounding` : '',
        payments.differ > 0
          ? `payments of ${plural(payments.differ, 'order')} of ${count(payments.orders)} differ from the list of payments by ${moneyToTheCent(payments.differenceCents)} in all (view payments_check)`
          : '',
      ),
      fact(
        'Deletions checked',
        deletesCheckedAt === null ? unknownMark : dayInFull(deletesCheckedAt),
        deletesUnchecked > 0
          ? `not lately in ${plural(deletesUnchecked, 'list')}: shopsync reconcile checks`
          : '',
      ),
      fact(
        'In quarantine',
        plural(quarantined, 'value'),
        quarantined > 0 ? 'could not be stored as sent' : '',
      ),
    ],
    remarks: [
      'A list is one kind of record of one business; those that these figures rest on count here. It is proven complete when what was read equals what the source counts.',
      `Compared with payments: invoices with a known total and a payment. Left out: ${plural(totals.unpaid, 'unpaid invoice')}, ${count(totals.unknown)} with an unknown total.`,
    ],
    orders: [],
  }
}

/** A month that another is compared with. */
interface Compared {
  readonly words: string
  readonly month: string
  readonly numbers: MonthNumbers
}

const trends = (
  now: MonthNumbers,
  compared: readonly Compared[],
  of: (numbers: MonthNumbers) => number | null,
): Fact['trends'] =>
  compared.flatMap(({ words, month, numbers }) => {
    const trend = trendOf(of(now), of(numbers))
    return trend === null ? [] : [{ words, month: monthInShort(month), trend }]
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

function monthOf(data: ReportData, scope: ReportScope): QuestionAnswer {
  const { months, lastMonth } = data
  const at = lastMonth ?? months.length - 1
  const [month, now] = [months[at], scope.months[at]]
  if (month === undefined || now === undefined) return noMonth
  const name = monthInFull(month.month)
  const compared =
    lastMonth === null
      ? []
      : [
          ...wholeAt(data, scope, at - 1, 'the month before'),
          ...wholeAt(data, scope, at - 12, 'the year before'),
        ]
  const sales = trends(now, compared, (numbers) => numbers.salesCents)
  return {
    id: 'month',
    question: 'How was last month?',
    sentence: monthSentence(lastMonth === null ? `${name} so far` : name, now, sales),
    tone: sales.some(({ trend }) => trend.direction === 'down') ? 'watch' : 'good',
    facts: monthFacts(now, compared),
    remarks: [
      'Sales are before supply fees and taxes, after discounts. Gross profit is before technicians’ pay: it is not comparable with shop systems that subtract pay.',
      ...(now.invoicesWithoutProfit > 0
        ? ['Gross profit is without the invoices of which a cost or a price is unknown.']
        : []),
      'A car counts once a day.',
      ...behindRemark(scope.behind, name),
    ],
    orders: [],
  }
}

/** Tenants whose data ends before the month does. */
export const behindRemark = (behind: number, month: string): string[] =>
  behind === 0 ? [] : [`Of ${plural(behind, 'business')} the data does not reach to the end of ${month}.`]

/** A month that is not whole is compared with nothing. */
function wholeAt({ months }: ReportData, scope: ReportScope, at: number, words: string): Compared[] {
  const [month, numbers] = [months[at], scope.months[at]]
  return month?.isPartial === false && numbers ? [{ words, month: month.month, numbers }] : []
}

function monthFacts(now: MonthNumbers, compared: readonly Compared[]): Fact[] {
  const order = ({ salesCents, invoices }: MonthNumbers): number | null => ratio(salesCents, invoices)
  const average = order(now)
  return [
    {
      ...fact('Sales', moneyText(now.salesCents), plural(now.invoices, 'invoice')),
      trends: trends(now, compared, (numbers) => numbers.salesCents),
    },
    {
      ...fact(
        'Gross profit',
        moneyText(now.grossProfitCents),
        `${percentText(now.grossProfitCents, now.salesWithProfitCents)} of the sales it is known of`,
        now.invoicesWithoutProfit > 0 ? `without ${plural(now.invoicesWithoutProfit, 'invoice')}` : '',
      ),
      trends: trends(now, compared, (numbers) => numbers.grossProfitCents),
    },
    {
      ...fact('Average repair order', average === null ? unknownMark : moneyText(average)),
      trends: trends(now, compared, order),
    },
    {
      ...fact('Cars', count(now.cars)),
      trends: trends(now, compared, (numbers) => numbers.cars),
    },
  ]
}

function monthSentence(name: string, now: MonthNumbers, sales: Fact['trends']): string {
  const sides = { up: 'above', down: 'below', level: 'like' } as const
  const comparisons = sales.map(({ words, trend: { text, direction } }) =>
    direction === 'level' ? `like ${words}` : `${text.replace(/^[+−]/, '')} ${sides[direction]} ${words}`,
  )
  const told = comparisons.length > 0 ? `, ${comparisons.join(' and ')}` : ''
  return `${name}: ${moneyText(now.salesCents)} of sales${told}.`
}

function todayOf({ needs }: ReportScope): QuestionAnswer {
  const { open, late, overdue, receivables, undecided } = needs
  const hidden =
    overdue.unknown > 0
      ? `${count(overdue.unknown)} more with an unknown total${overdue.atLeastCents > 0 ? `, at least ${moneyText(overdue.atLeastCents)}` : ''}`
      : ''
  const credits =
    receivables.overpaid > 0
      ? `credits of ${moneyText(receivables.creditCents)} on ${plural(receivables.overpaid, 'invoice')} apart`
      : ''
  return {
    id: 'today',
    question: 'What needs me today?',
    ...todaySentence(needs),
    facts: [
      fact(
        'Late',
        plural(late.orders, 'order'),
        `of ${plural(open.orders, 'open order')} worth ${moneyText(open.salesCents)}`,
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
      'Late: an estimate or an order in progress past its promised time. Overdue: closed more than 30 days ago and not paid in full; what was paid too much is not taken off. Undecided: recommended in the last 90 days, neither approved nor declined.',
    ],
    orders: [
      { title: 'Longest late', about: 'days in the shop', list: needs.lateOrders },
      { title: 'Largest overdue', about: 'days since closing', list: needs.overdueOrders },
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

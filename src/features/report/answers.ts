/*
 * The questions at the top of the report, answered. The page shows them as cards (src/features/report/page/reportpage.ts),
 * the demo as text (reporttext.ts).
 */
import { count, plural } from '../../engine/base/format.js'
import type { ReportData, ReportScope, TrustAnswer } from './data.js'
import { fact, type QuestionAnswer } from './fact.js'
import { dayInShort, moneyToTheCent, percentOfAll, unknownMark } from './numberwords.js'
import { dayQuestion, noMonth, periodQuestion } from './periodanswers.js'
import { todayOf } from './today.js'
import { trustSentence } from './trustsentence.js'

/** In the order of the JSON document, which begins with the three oldest questions. */
export const answersOf = (data: ReportData, scope: ReportScope): readonly QuestionAnswer[] => [
  trustOf(scope, data.madeAt),
  scope.periods[0] ? periodQuestion(scope.periods[0], scope) : noMonth,
  todayOf(scope),
  dayQuestion(scope),
]

/** In the order in which people read them. */
export const readingOrder = ['yesterday', 'today', 'month', 'trust'] as const

/** The progress of lists that are read completely once. */
function refillNote({ lists, begun, read, of }: TrustAnswer['refilling']): string {
  if (lists === 0) return ''
  const reached =
    begun > 0 ? `: ${count(read)} of ${count(of)} records of ${plural(begun, 'set')} so far` : ''
  return `${plural(lists, 'set')} to be read again in full${reached}`
}

/** For several businesses, how many are complete; for one, how many of its kinds of records. */
function completeness({ trust, businesses }: ReportScope): readonly [value: string, of: string] {
  const { lists, unavailable, verdicts } = trust
  if (businesses.all > 1) return [`${count(businesses.complete)} of ${count(businesses.all)}`, 'businesses']
  return [
    `${count(verdicts.proven + verdicts.repaired)} of ${count(lists + unavailable)}`,
    'kinds of records',
  ]
}

function trustOf(scope: ReportScope, madeAt: string): QuestionAnswer {
  const { trust } = scope
  const { unavailable, verdicts, totals, quarantined, deletesCheckedAt, deletesUnchecked, oldest, payments } =
    trust
  const checked = totals.equal + totals.rounding + totals.more
  const listed =
    verdicts.listed > 0
      ? `${plural(verdicts.listed, 'set')} read to the end, but the source’s count is wrong`
      : ''
  return {
    id: 'trust',
    question: 'Can I trust it?',
    ...trustSentence(trust, madeAt),
    facts: [
      fact(
        'Proven complete',
        completeness(scope)[0],
        `${completeness(scope)[1]} behind these figures`,
        listed,
        unavailable > 0 ? `${count(unavailable)} unavailable at the source` : '',
        refillNote(trust.refilling),
        oldest ? `oldest: ${oldest.resource.replaceAll('_', ' ')} of ${oldest.tenant}` : '',
      ),
      fact(
        'Payments match totals',
        percentOfAll(totals.equal, checked),
        checked > 0 ? `of ${plural(checked, 'paid invoice')}` : 'no paid invoice yet',
        totals.more > 0 ? `${count(totals.more)} off by more than rounding` : '',
        payments.differ > 0
          ? `on ${count(payments.differ)} of ${plural(payments.orders, 'order')}, payments differ from the list of payments, by ${moneyToTheCent(payments.differenceCents)} in total`
          : '',
      ),
      fact(
        'Deletions checked',
        deletesCheckedAt === null ? unknownMark : dayInShort(deletesCheckedAt),
        deletesUnchecked > 0
          ? `not recently in ${plural(deletesUnchecked, 'set')} of records: run shopsync reconcile`
          : '',
      ),
      fact(
        'Set aside',
        plural(quarantined, 'value'),
        quarantined > 0 ? 'could not be stored as the source sent them' : '',
      ),
    ],
    remarks: [
      'A set of records is everything of one kind, such as the customers of one business. Only what is behind these figures counts here. It is proven complete when the records read match the source’s count.',
      `Payments are compared on invoices with a known total and a payment. Left out: ${plural(totals.unpaid, 'unpaid invoice')}, and ${plural(totals.unknown, 'invoice')} for which the source doesn’t tell everything that makes up the total, such as the supply fee.`,
    ],
  }
}

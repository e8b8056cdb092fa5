/* The third question: what needs attention today, and the lists of it. */
import { count, plural } from '../../engine/base/format.js'
import type { ReportScope } from './data.js'
import { type Fact, fact, type QuestionAnswer } from './fact.js'
import { moneyText } from './numberwords.js'
import type { TaskList } from './tasklist.js'
import type { Tone } from './trustsentence.js'

const emptyList: Omit<TaskList, 'id'> = { count: 0, apart: 0, ahead: 0, cents: 0, unknown: 0, tasks: [] }

const listOf = (tasks: ReportScope['tasks'], id: TaskList['id']): Omit<TaskList, 'id'> =>
  tasks.find((list) => list.id === id) ?? emptyList

export const todayOf = (scope: ReportScope): QuestionAnswer => ({
  id: 'today',
  question: 'What needs attention today?',
  ...todaySentence(scope),
  facts: [...calendarFacts(scope), ...moneyFacts(scope)],
  remarks: [
    'Still due: appointments that haven’t begun, and cars that aren’t picked up. Promised pick-ups: orders due out today, without estimates. To collect: all that is owed on invoices. Late: an estimate or an order in progress past its promised time. Overdue: closed more than 30 days ago and not paid in full. Credits for overpayment are not subtracted. Still to sell: recommended in the last 90 days, and neither approved nor sold nor closed by staff. Approved, on no order: the customer said yes in that time, and nobody has sold it yet.',
    ...unpaidRemark(listOf(scope.tasks, 'unpaid')),
  ],
})

const unpaidRemark = ({ unknown }: Pick<TaskList, 'unknown'>): string[] =>
  unknown === 0
    ? []
    : [
        `Picked up and unpaid: on ${plural(unknown, 'invoice')}, the source doesn’t tell everything that makes up the total, such as the supply fee. They are counted, but not in the sum.`,
      ]

function calendarFacts({ needs: { inProgress, estimates }, tasks }: ReportScope): Fact[] {
  const [come, promised, late] = [
    listOf(tasks, 'appointments'),
    listOf(tasks, 'pick-ups'),
    listOf(tasks, 'late'),
  ]
  const parts = tasks.find(({ id }) => id === 'waiting for parts')
  return [
    fact(
      'Appointments',
      count(come.count),
      come.apart > 0 ? `${count(come.apart)} came` : '',
      come.count > 0 ? `${count(come.ahead)} still due` : '',
    ),
    fact(
      'Promised pick-ups',
      plural(promised.count, 'car'),
      promised.apart > 0 ? `${count(promised.apart)} picked up` : '',
    ),
    fact(
      'Late',
      plural(late.count, 'order'),
      late.apart > 0 ? `${count(late.apart)} of them not begun` : '',
      `${plural(inProgress.orders, 'order')} in progress${inProgress.salesCents === null ? '' : ` worth ${moneyText(inProgress.salesCents)}`}`,
      plural(estimates, 'open estimate'),
    ),
    ...(parts ? [fact('Waiting for parts', plural(parts.count, 'order'))] : []),
  ]
}

function moneyFacts({ needs: { overdue, receivables, creditCents }, tasks }: ReportScope): Fact[] {
  const [unpaid, toSell] = [listOf(tasks, 'unpaid'), listOf(tasks, 'to sell')]
  const approved = listOf(tasks, 'approved unsold')
  return [
    fact(
      'Picked up and unpaid',
      moneyText(unpaid.cents),
      plural(unpaid.count, 'invoice'),
      unpaid.unknown > 0 ? `${count(unpaid.unknown)} of them not in the sum` : '',
    ),
    fact(
      'Overdue',
      moneyText(overdue.cents),
      plural(overdue.invoices, 'invoice'),
      `of ${moneyText(receivables.cents)} to collect`,
      overdue.atLeastCents > 0
        ? `and at least ${moneyText(overdue.atLeastCents)} on ${plural(overdue.unknown, 'invoice')} whose total isn’t known in full`
        : '',
      receivables.overpaid > 0
        ? `credits of ${moneyText(creditCents)} on ${plural(receivables.overpaid, 'invoice')} not included`
        : '',
    ),
    fact(
      'Still to sell',
      count(toSell.count),
      `${toSell.count === 1 ? 'recommendation' : 'recommendations'} worth ${moneyText(toSell.cents)}`,
      toSell.apart > 0 ? `${count(toSell.apart)} undecided` : '',
      toSell.unknown > 0 ? `${count(toSell.unknown)} without a known price` : '',
      approved.count > 0 ? `and ${count(approved.count)} approved, on no order` : '',
    ),
  ]
}

function todaySentence({ needs: { overdue, receivables }, tasks: lists }: ReportScope): {
  readonly sentence: string
  readonly tone: Tone
} {
  const [come, promised] = [listOf(lists, 'appointments'), listOf(lists, 'pick-ups')]
  const [late, toSell] = [listOf(lists, 'late'), listOf(lists, 'to sell')]
  const approved = listOf(lists, 'approved unsold')
  const due = [[come, 'appointment'] as const, [promised, 'promised pick-up'] as const].filter(
    ([{ ahead }]) => ahead > 0,
  )
  const ahead = due.map(([{ ahead, count: all }, noun]) =>
    ahead === all ? plural(all, noun) : `${count(ahead)} of ${plural(all, noun)}`,
  )
  const isPart = due.some(([{ ahead, count: all }]) => ahead < all)
  const tasks = [
    late.count > 0 ? `${plural(late.count, 'order')} past the promised time` : '',
    receivables.invoices > 0
      ? `${moneyText(receivables.cents)} to collect${overdue.invoices > 0 ? ` (${moneyText(overdue.cents)} of it overdue)` : ''}`
      : '',
    toSell.count + approved.count > 0
      ? `${plural(toSell.count + approved.count, 'recommendation')} to follow up`
      : '',
  ].filter((words) => words !== '')
  const today = ahead.length === 0 ? '' : `${ahead.join(' and ')}${isPart ? ' still due' : ''} today. `
  if (tasks.length === 0)
    return { sentence: `${today}Nothing is late, to collect or left to sell.`, tone: 'good' }
  const [first = '', ...rest] = tasks
  const list = rest.length === 0 ? first : `${tasks.slice(0, -1).join(', ')} and ${tasks.at(-1) ?? ''}`
  return {
    sentence: `${today}${list.charAt(0).toUpperCase()}${list.slice(1)}.`,
    tone: late.count > 0 ? 'bad' : 'watch',
  }
}

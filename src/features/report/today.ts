/* The third question: what needs attention today, and the lists of it. */
import { count, plural } from '../../engine/base/format.js'
import type { ReportScope } from './data.js'
import { type Fact, fact, type QuestionAnswer } from './fact.js'
import { moneyText } from './numberwords.js'
import type { TaskList } from './tasklist.js'
import type { Tone } from './trustsentence.js'

const emptyList: Omit<TaskList, 'id'> = { count: 0, apart: 0, cents: 0, unknown: 0, tasks: [] }

const listOf = (tasks: ReportScope['tasks'], id: TaskList['id']): Omit<TaskList, 'id'> =>
  tasks.find((list) => list.id === id) ?? emptyList

export const todayOf = (scope: ReportScope): QuestionAnswer => ({
  id: 'today',
  question: 'What needs attention today?',
  ...todaySentence(scope),
  facts: [...calendarFacts(scope), ...moneyFacts(scope)],
  remarks: [
    'Promised pick-ups: due out today. Late: an estimate or an order in progress past its promised time. Overdue: closed more than 30 days ago and not paid in full. Credits for overpayment are not subtracted. Still to sell: recommended in the last 90 days, and neither sold nor closed by staff.',
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
    fact('Appointments', count(come.count), come.apart > 0 ? `${count(come.apart)} came` : ''),
    fact(
      'Promised pick-ups',
      plural(promised.count, 'car'),
      promised.apart > 0 ? `${count(promised.apart)} picked up` : '',
    ),
    fact(
      'Late',
      plural(late.count, 'order'),
      `${plural(inProgress.orders, 'order')} in progress${inProgress.salesCents === null ? '' : ` worth ${moneyText(inProgress.salesCents)}`}`,
      plural(estimates, 'open estimate'),
    ),
    ...(parts ? [fact('Waiting for parts', plural(parts.count, 'order'))] : []),
  ]
}

function moneyFacts({ needs: { overdue, receivables, creditCents }, tasks }: ReportScope): Fact[] {
  const [unpaid, toSell] = [listOf(tasks, 'unpaid'), listOf(tasks, 'to sell')]
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
      `of ${moneyText(receivables.cents)} owed`,
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
    ),
  ]
}

function todaySentence({ needs: { overdue }, tasks: lists }: ReportScope): {
  readonly sentence: string
  readonly tone: Tone
} {
  const [come, promised] = [listOf(lists, 'appointments'), listOf(lists, 'pick-ups')]
  const [late, toSell] = [listOf(lists, 'late'), listOf(lists, 'to sell')]
  const waiting = promised.count - promised.apart
  const pickUps = plural(promised.count, 'promised pick-up')
  const ahead = [
    come.count > 0 ? plural(come.count, 'appointment') : '',
    waiting === 0 ? '' : promised.apart === 0 ? pickUps : `${count(waiting)} of ${pickUps} still due`,
  ].filter((words) => words !== '')
  const tasks = [
    late.count > 0 ? `${plural(late.count, 'order')} past the promised time` : '',
    overdue.invoices > 0 ? `${moneyText(overdue.cents)} to collect` : '',
    toSell.count > 0 ? `${plural(toSell.count, 'recommendation')} to follow up` : '',
  ].filter((words) => words !== '')
  const today = ahead.length === 0 ? '' : `${ahead.join(' and ')} today. `
  if (tasks.length === 0)
    return { sentence: `${today}Nothing is late, overdue or left to sell.`, tone: 'good' }
  const [first = '', ...rest] = tasks
  const list = rest.length === 0 ? first : `${tasks.slice(0, -1).join(', ')} and ${tasks.at(-1) ?? ''}`
  return {
    sentence: `${today}${list.charAt(0).toUpperCase()}${list.slice(1)}.`,
    tone: late.count > 0 ? 'bad' : 'watch',
  }
}

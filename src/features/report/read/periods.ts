/* The periods that the reader can choose, and what each is compared with. */
import type { DayRange, PeriodId, ReportMonth, ReportPeriod } from '../data.js'
import { daysInFull, monthInFull, monthInShort } from '../numberwords.js'
import { daysLater, monthsLater } from './reportdays.js'

interface Calendar {
  readonly months: readonly ReportMonth[]
  readonly lastMonth: number | null
  /** All days before it are complete. */
  readonly completeDay: string
}

const rangeOf = (month: string, months = 1): DayRange => ({
  from: `${month}-01`,
  to: `${monthsLater(month, months)}-01`,
})

/** The days of a month up to the one with this number, or all if the month is shorter. */
function firstDays(month: string, days: number): DayRange {
  const { from, to } = rangeOf(month)
  const end = daysLater(from, days)
  return { from, to: end < to ? end : to }
}

const questions: Readonly<Record<Exclude<PeriodId, 'yesterday'>, readonly [name: string, question: string]>> =
  {
    'last-month': ['Last month', 'How was last month?'],
    'month-to-date': ['This month so far', 'How is this month going?'],
    'last-12-months': ['Last 12 months', 'How were the last 12 months?'],
  }

const period = (
  id: keyof typeof questions,
  range: DayRange,
  label: string,
  compared: ReportPeriod['compared'],
): ReportPeriod => ({ id, name: questions[id][0], question: questions[id][1], ...range, label, compared })

function lastMonthOf(month: string): ReportPeriod {
  const [before, year] = [monthsLater(month, -1), monthsLater(month, -12)]
  return period('last-month', rangeOf(month), monthInFull(month), [
    { ...rangeOf(before), words: 'the month before', label: monthInShort(before) },
    { ...rangeOf(year), words: 'the year before', label: monthInShort(year) },
  ])
}

function yearOf(month: string, first: string): ReportPeriod[] {
  const from = [monthsLater(month, -11), first].sort()[1] ?? month
  if (from === month) return []
  const earlier = monthsLater(from, -12)
  const before = { from: `${earlier}-01`, to: `${monthsLater(month, -11)}-01` }
  const label = `${monthInShort(from)} to ${monthInShort(month)}`
  const words = 'the 12 months before'
  const isYear = from === monthsLater(month, -11)
  return [
    period(
      'last-12-months',
      { from: `${from}-01`, to: `${monthsLater(month, 1)}-01` },
      label,
      isYear ? [{ ...before, words, label: words }] : [],
    ),
  ]
}

/** `Oct 1 to 22, 2026`. */
const daysInShort = (month: string, days: number): string => {
  const [name = '', year = ''] = monthInShort(month).split(' ')
  return `${name} 1${days > 1 ? ` to ${Math.min(days, dayBefore(rangeOf(month).to))}` : ''}, ${year}`
}

const dayBefore = (day: string): number => Number(daysLater(day, -1).slice(8, 10))

/** The current month, up to its last complete day: compared with the same number of days. */
function runningOf(month: string, completeDay: string): ReportPeriod[] {
  const whole = rangeOf(month)
  const to = completeDay < whole.to ? completeDay : whole.to
  if (to <= whole.from) return []
  const days = dayBefore(to)
  const [before, year] = [monthsLater(month, -1), monthsLater(month, -12)]
  return [
    period('month-to-date', { from: whole.from, to }, daysInFull(whole.from, to), [
      {
        ...firstDays(before, days),
        words: 'the same days of the month before',
        label: daysInShort(before, days),
      },
      {
        ...firstDays(year, days),
        words: 'the same days of the year before',
        label: daysInShort(year, days),
      },
    ]),
  ]
}

/** The first one is shown first. */
export function periodsOf({ months, lastMonth, completeDay }: Calendar): ReportPeriod[] {
  const [first, last] = [months[0], months.at(-1)]
  if (!first || !last) return []
  const whole = lastMonth === null ? undefined : months[lastMonth]
  const running = whole?.month === last.month ? [] : runningOf(last.month, completeDay)
  if (whole) return [lastMonthOf(whole.month), ...running, ...yearOf(whole.month, first.month)]
  if (running.length > 0) return running
  return [period('month-to-date', rangeOf(last.month), `${monthInFull(last.month)} so far`, [])]
}

/** The current month and those its pace is compared with, each from the first day to the end of the month. */
export function paceMonths({ months, lastMonth, completeDay }: Calendar): string[] {
  const last = months.at(-1)
  const whole = lastMonth === null ? undefined : months[lastMonth]
  if (!last || last.month === whole?.month || completeDay <= `${last.month}-01`) return []
  return [last.month, monthsLater(last.month, -1), monthsLater(last.month, -12)]
}

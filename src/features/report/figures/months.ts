import type { Chart } from '../chart.js'
import type { ReportMonth } from '../data.js'
import { monthInFull, monthInShort } from '../numberwords.js'

/* What figures over the months of the report share. */

/** Every third month is named where there are many, and the year stands below January. */
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

/** The months whose numbers will still grow, in a sentence; nothing where all are whole. */
export function aboutPartial(months: readonly ReportMonth[]): string[] {
  const names = months.filter(({ isPartial }) => isPartial).map(({ month }) => monthInFull(month))
  if (names.length === 0) return []
  return [
    `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not whole: hatched, or a hollow point.`,
  ]
}

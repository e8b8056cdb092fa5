/* Amounts, times and changes in the report's wording: the same on the page and in the demo's text. */
import { dayOfMonth, plural } from '../../engine/base/format.js'
import { toMicros } from '../../engine/base/timestamp.js'

const cents = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const dollarsOnly = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 0,
})
const compact = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  minimumFractionDigits: 0,
  maximumFractionDigits: 1,
})
const oneDecimal = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** Shown if there is no number: an unknown number is never shown as 0. */
export const unknownMark = '–'

/** Whole dollars, in figures that people read at a glance. */
export const moneyText = (value: number): string => dollarsOnly.format(Math.round(value / 100))
export const moneyToTheCent = (value: number): string => cents.format(value / 100)
/** `$1.2M`: for axes. */
export const moneyInShort = (value: number): string => compact.format(value / 100)
export const hoursText = (value: number): string => oneDecimal.format(value)

export const percentOf = (value: number): string => `${oneDecimal.format(value)}%`

/** There is no share of zero or less. */
export const percentText = (part: number, of: number): string =>
  of <= 0 ? unknownMark : percentOf((100 * part) / of)

/** A share that may be almost all: 100% means exactly all. */
export function percentOfAll(part: number, of: number): string {
  if (of === 0) return unknownMark
  const rounded = percentText(part, of)
  if (part === of) return '100%'
  return rounded === '100.0%' ? 'over 99.9%' : rounded
}

export interface Trend {
  readonly text: string
  readonly direction: 'up' | 'down' | 'level'
}

/**
 * The change from one value to another, in percent; null if there is nothing to compare with, or if the sign changes.
 */
export function trendOf(now: number | null, before: number | null): Trend | null {
  if (now === null || before === null || before <= 0 || now < 0) return null
  const percent = (100 * (now - before)) / before
  const size = oneDecimal.format(Math.abs(percent))
  if (size === '0.0') return { text: '0.0%', direction: 'level' }
  return percent > 0 ? { text: `+${size}%`, direction: 'up' } : { text: `−${size}%`, direction: 'down' }
}

const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

const nameOfMonth = (month: string): string => monthNames[Number(month.slice(5, 7)) - 1] ?? month

/** `October 2026`. */
export const monthInFull = (month: string): string => `${nameOfMonth(month)} ${month.slice(0, 4)}`
/** `Oct 2026`. */
export const monthInShort = (month: string): string =>
  `${nameOfMonth(month).slice(0, 3)} ${month.slice(0, 4)}`

/** `November 1 to 22, 2026`, without the day `to`. */
export function daysInFull(from: string, to: string): string {
  const last = new Date(Date.parse(`${to}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)
  const [first, end] = [Number(from.slice(8, 10)), Number(last.slice(8, 10))]
  return `${nameOfMonth(from)} ${first === end ? first : `${first} to ${end}`}, ${from.slice(0, 4)}`
}

/** `November 22, 2026`. */
export const dayInFull = (day: string): string =>
  `${nameOfMonth(day)} ${Number(day.slice(8, 10))}, ${day.slice(0, 4)}`
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export const weekdayName = (day: string): string => weekdays[new Date(`${day}T00:00:00Z`).getUTCDay()] ?? ''

/** `Nov 22, 2026`. */
export const dayInShort = (day: string): string => `${dayOfMonth(day)}, ${day.slice(0, 4)}`

/** How long one instant was before another, without a clock time: `12 minutes`, `3 hours`, `2 days`. */
export function ageInWords(instant: string, madeAt: string): string {
  const minutes = Number((toMicros(madeAt) - toMicros(instant)) / 60_000_000n)
  if (minutes < 2) return 'a moment'
  if (minutes < 120) return plural(minutes, 'minute')
  return minutes < 2880 ? plural(Math.floor(minutes / 60), 'hour') : plural(Math.floor(minutes / 1440), 'day')
}

/** `November 22, 2026, 08:15 UTC`: for operators. */
export const instantInFull = (instant: string): string =>
  `${dayInFull(instant)}, ${instant.slice(11, 16)} UTC`
/** `Nov 22, 2026, 08:15`, in columns of instants. */
export const instantInShort = (instant: string): string => `${dayInShort(instant)}, ${instant.slice(11, 16)}`

/**
 * Timestamps: parsing and printing, exact to the microsecond. Shares no code with the API client, so a misreading on
 * either side shows in the tests. Used by all parts of the sandbox.
 */
import type { Clock } from '../engine/base/clock.js'

/** An exact instant: microseconds since 1970-01-01T00:00:00Z. Date and luxon only hold milliseconds. */
export type Micros = bigint

/** The part of a clock that the sandbox needs. */
export type MicrosClock = Pick<Clock, 'nowMicros'>

export interface TimestampFormat {
  /** The number of fraction digits, 0 to 6. Printing truncates; rounding would move records into the future. */
  readonly digits: number
  readonly offsetMinutes: number
}

const SECOND = 1_000_000n
const EXTENDED = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,12}))?(Z|[+\- ]\d\d:?\d\d)$/
const BASIC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:[.,](\d{1,12}))?(Z|[+\- ]\d\d:?\d\d)$/

const monthDays = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

/** Days from 1970-01-01 in the proleptic Gregorian calendar, counting years from March. */
function daysFromDate(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

function dateFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

function offsetSeconds(text: string): number | undefined {
  if (text === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  // A '+' in a query string is decoded as a space.
  return (text[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60)
}

/** The instant of an ISO 8601 text with a timezone. undefined for every other text. */
export function parseInstant(text: string): Micros | undefined {
  const match = EXTENDED.exec(text) ?? BASIC.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  if (month < 1 || month > 12 || day < 1 || day > monthDays(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offset = offsetSeconds(match[8] ?? 'Z')
  if (offset === undefined) return undefined
  const seconds = daysFromDate(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
  return BigInt(seconds) * SECOND + BigInt((match[7] ?? '').slice(0, 6).padEnd(6, '0'))
}

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

function printOffset(minutes: number): string {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60), 2)}:${pad(size % 60, 2)}`
}

const CANONICAL: TimestampFormat = { digits: 6, offsetMinutes: 0 }

export function printInstant(micros: Micros, format: TimestampFormat = CANONICAL): string {
  let fraction = micros % SECOND
  let whole = micros / SECOND
  if (fraction < 0n) {
    fraction += SECOND
    whole -= 1n
  }
  const seconds = Number(whole) + format.offsetMinutes * 60
  const days = Math.floor(seconds / 86_400)
  const rest = seconds - days * 86_400
  const { year, month, day } = dateFromDays(days)
  const clock = `${pad(Math.floor(rest / 3600), 2)}:${pad(Math.floor(rest / 60) % 60, 2)}:${pad(rest % 60, 2)}`
  const digits = fraction.toString().padStart(6, '0').slice(0, format.digits)
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${clock}${digits === '' ? '' : `.${digits}`}${printOffset(format.offsetMinutes)}`
}

export type TimestampStyle =
  | 'micros'
  | 'millis'
  | 'seconds'
  | { readonly digits?: number; readonly offset?: string }

/** undefined for 'micros': timestamps are printed as stored. */
export function timestampFormat(style: TimestampStyle): TimestampFormat | undefined {
  if (style === 'micros') return undefined
  if (style === 'millis') return { digits: 3, offsetMinutes: 0 }
  if (style === 'seconds') return { digits: 0, offsetMinutes: 0 }
  const offset = offsetSeconds(style.offset ?? 'Z')
  if (offset === undefined) throw new Error(`timestamps.offset: not an offset: ${style.offset}`)
  return { digits: style.digits ?? 6, offsetMinutes: offset / 60 }
}

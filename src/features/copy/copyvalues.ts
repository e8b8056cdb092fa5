/**
 * A value on its way from one warehouse to another: what the other side holds of it, and one text for the same value on
 * both sides. Used only by the copy. What a column can hold is decided by src/engine/model/flatten/convert.ts, as for
 * values from the API.
 */
import type { Kind } from '../../../schema/resource.js'
import { decimalOf, exactDouble, fitsNumeric, type NumberForm } from '../../engine/base/numbertoken.js'
import type { Value } from '../../engine/model/flatten/batch.js'
import { convert } from '../../engine/model/flatten/convert.js'
import { hasLoneSurrogate, hasNul, storable } from '../../engine/model/flatten/jsontext.js'

/** Why the other side can't hold a value. */
export class Unfit {
  constructor(readonly reason: string) {}
}

/** How each side holds numbers, in columns and in JSON. */
export interface Passage {
  readonly from: NumberForm
  readonly to: NumberForm
}

/** Whether a number, as written, has no more digits than a double keeps. */
const isShort = (text: string): boolean => text.length <= 15 && !/[eE]/.test(text)
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const calendarDay = /^\d{4}-\d\d-\d\d$/
const plainNumber = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

/**
 * A value that the column's kind doesn't expect. A person may have written it, since SQLite accepts anything anywhere.
 */
function odd(value: Value, kind: Kind, { to }: Passage): Value | Unfit {
  const converted = convert[kind](value, to)
  return converted.reason === null ? converted.value : new Unfit(converted.reason)
}

function carryNumber(value: Value, passage: Passage): Value | Unfit {
  if (typeof value === 'number' && Number.isFinite(value)) return value + 0
  if (typeof value !== 'string' || !plainNumber.test(value)) return odd(value, 'number', passage)
  if (passage.to === 'numeric') return value
  return isShort(value) ? Number(value) + 0 : odd(value, 'number', passage)
}

/** Strings, and whitespace between tokens. Numbers and keywords are left over. */
const textOrBlank = /"(?:[^"\\]|\\.)*"|\s+/g
/** A number that is long or has an exponent; Postgres numeric holds every digit of the others. */
const largeNumber = /\d[eE][+-]?\d{3}|\d{1000}/
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const escaped = /\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})/

const isText = (part: string): boolean => part.startsWith('"')

/**
 * JSON text that jsonb accepts. The product never writes JSON that jsonb refuses, but the file may be older or come
 * from elsewhere.
 */
function carryJson(text: string): string | Unfit {
  const clean = escaped.test(text)
    ? text.replaceAll(token, (part) =>
        isText(part) ? JSON.stringify(storable(JSON.parse(part) as string)) : part,
      )
    : text
  try {
    JSON.parse(clean)
  } catch {
    return new Unfit('not JSON')
  }
  const tooLarge = (part: string): boolean => !isText(part) && !fitsNumeric(part)
  const isUnfit = largeNumber.test(clean) && (clean.match(token) ?? []).some(tooLarge)
  return isUnfit ? new Unfit('a number that numeric cannot hold') : clean
}

const withoutBlanks = (text: string): string =>
  text.replaceAll(textOrBlank, (part) => (isText(part) ? part : ''))

function carrySome(value: Value, kind: Kind, passage: Passage): Value | Unfit {
  switch (kind) {
    case 'number':
      return carryNumber(value, passage)
    case 'json':
      if (typeof value !== 'string') return odd(value, kind, passage)
      if (passage.from === passage.to) return value
      return passage.to === 'numeric' ? carryJson(value) : withoutBlanks(value)
    case 'text':
      return typeof value === 'string' && !hasNul(value) && !hasLoneSurrogate(value)
        ? value
        : odd(value, kind, passage)
    case 'timestamp':
      return typeof value === 'string' && instant.test(value) ? value : odd(value, kind, passage)
    case 'day':
      return typeof value === 'string' && calendarDay.test(value) ? value : odd(value, kind, passage)
    case 'boolean':
      return typeof value === 'boolean' ? value : odd(value, kind, passage)
    default:
      return typeof value === 'bigint' || Number.isSafeInteger(value) ? value : odd(value, kind, passage)
  }
}

/** Returns the value as the other side holds it, or why it can't. */
export const carrierOf =
  (kind: Kind, passage: Passage): ((value: Value) => Value | Unfit) =>
  (value) =>
    value === null ? null : carrySome(value, kind, passage)

/** The same text for the same number, however its digits are written. */
export function numberText(value: number | string): string {
  if (typeof value === 'number') return String(value)
  if (isShort(value)) return String(Number(value))
  const near = exactDouble(value)
  if (near !== undefined) return String(near)
  const { negative, digits, point } = decimalOf(value)
  return `${negative ? '-' : ''}0.${digits}e${point}`
}

/** Sorts members. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/**
 * The same text for the same JSON value: jsonb orders members and drops whitespace between tokens. Every number becomes
 * a string, since a double would round it. Strings and names are marked, to tell them from numbers.
 */
export function jsonValueText(text: string): string {
  const marked = text.replaceAll(token, (part) =>
    isText(part) ? `"=${part.slice(1)}` : `"${numberText(part)}"`,
  )
  return JSON.stringify(JSON.parse(marked), sorted)
}

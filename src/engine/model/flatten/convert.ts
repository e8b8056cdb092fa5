/**
 * One converter per kind. A value that converts without loss is converted. Any other value is refused with a reason:
 * its column becomes null, and the value goes to quarantine. Null and absent values never get here. Used by the slow
 * path.
 *
 * Decided here: an empty text isn't a number, boolean or timestamp. Numbers in texts are decimal (`-12`, `12.0`, for
 * numbers also `1.5e3`), without blanks, and compared by value, so `007` is 7. 0 and 1, also as texts, are booleans. A
 * number isn't a timestamp, since its unit is unknown. A double beyond 2^53 isn't an integer, since digits may already
 * be lost. A number with more digits than a double holds stays text for warehouses that hold every digit.
 */
import type { Kind } from '../../../../schema/resource.js'
import { exact, parseInt64 } from '../../base/int64.js'
import {
  decimalOf,
  exactDouble,
  fitsNumeric,
  type NumberForm,
  NumberToken,
  nearDouble,
} from '../../base/numbertoken.js'
import { canonical } from '../../base/timestamp.js'
import type { Value } from './batch.js'
import { hasLoneSurrogate, hasNul, jsonText, withoutNul } from './jsontext.js'

export interface Converted {
  readonly value: Value
  /** Why the value couldn't be stored as it came. null if it could. */
  readonly reason: string | null
  /** Some characters became U+FFFD. */
  readonly replaced: boolean
}

const good = (value: Value, replaced = false): Converted => ({ value, reason: null, replaced })
const refused = (reason: string): Converted => ({ value: null, reason, replaced: false })

const INTEGER = /^[+-]?\d{1,40}(?:\.0*)?$/
const DECIMAL = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/

/** `digits`: an optional sign, and decimal digits. */
function int64(digits: string): Converted {
  const value = parseInt64(digits)
  return value === undefined ? refused('an integer beyond 64 bits') : good(value)
}

function integer(value: unknown): Converted {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return good(value + 0)
    return refused(Number.isInteger(value) ? 'an integer that is not exact' : 'not a whole number')
  }
  if (typeof value === 'bigint') {
    const fits = BigInt.asIntN(64, value) === value
    return fits ? good(exact(value)) : refused('an integer beyond 64 bits')
  }
  if (value instanceof NumberToken) {
    const digits = wholeDigits(value.text)
    return digits === undefined ? refused('not a whole number') : int64(digits)
  }
  if (typeof value !== 'string') return refused('not an integer')
  return INTEGER.test(value) ? int64(value.replace(/\..*$/, '')) : refused('not the text of an integer')
}

/** A number from a token or a text. `form`: how the warehouse holds it. */
function decimal(digits: string, form: NumberForm): Converted {
  const exactly = exactDouble(digits)
  if (exactly !== undefined) return good(exactly)
  if (form === 'numeric')
    return fitsNumeric(digits)
      ? good(digits.replace(/^\+/, ''))
      : refused('a number that numeric cannot hold')
  const near = nearDouble(digits)
  return near === undefined ? refused('a number that a double cannot hold') : good(near)
}

function number(value: unknown, form: NumberForm = 'double'): Converted {
  if (typeof value === 'number')
    return Number.isFinite(value) ? good(value + 0) : refused('not a finite number')
  if (value instanceof NumberToken) return decimal(value.text, form)
  if (typeof value === 'bigint') return decimal(String(value), form)
  if (typeof value !== 'string') return refused('not a number')
  return DECIMAL.test(value) ? decimal(value, form) : refused('not the text of a number')
}

const truths = new Map<unknown, boolean>([
  [true, true],
  ['true', true],
  ['1', true],
  [1, true],
  [false, false],
  ['false', false],
  ['0', false],
  [0, false],
])

function boolean(value: unknown): Converted {
  const truth = truths.get(value instanceof NumberToken ? Number(value.text) : value)
  return truth === undefined ? refused('not a boolean') : good(truth)
}

function text(value: unknown): Converted {
  if (typeof value === 'string') {
    if (hasLoneSurrogate(value)) return refused('text with a lone surrogate')
    return hasNul(value) ? good(withoutNul(value), true) : good(value)
  }
  if (value instanceof NumberToken) return good(value.text)
  if (typeof value === 'number')
    return Number.isFinite(value) ? good(String(value)) : refused('not a finite number')
  if (typeof value === 'bigint' || typeof value === 'boolean') return good(String(value))
  return refused('not a text')
}

function timestamp(value: unknown): Converted {
  if (typeof value !== 'string') return refused('not a timestamp')
  const instant = canonical(value)
  return instant === null ? refused('not a timestamp with a zone') : good(instant)
}

function day(value: unknown): Converted {
  const isDay = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value)
  return isDay && canonical(`${value}T00:00:00Z`) !== null ? good(value) : refused('not a day')
}

function json(value: unknown, form: NumberForm = 'double'): Converted {
  const { text, replaced, reason } = jsonText(value, { careful: true, form })
  return text === null ? refused(reason) : good(text, replaced)
}

/** By kind: the column's value for a value that is neither null nor absent. */
export const convert: Readonly<Record<Kind, (value: unknown, form?: NumberForm) => Converted>> = {
  id: integer,
  integer,
  cents: integer,
  number,
  boolean,
  text,
  timestamp,
  json,
  day,
}

/** The digits of a whole number. undefined if it has a fraction or more than 40 digits. */
function wholeDigits(text: string): string | undefined {
  const { negative, digits, point } = decimalOf(text)
  if (digits.length > point && digits !== '') return undefined
  const most = 40
  return `${negative ? '-' : ''}${digits === '' ? '0' : digits.padEnd(Math.min(point, most), '0')}`
}

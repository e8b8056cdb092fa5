/**
 * JSON text to values without rounding: the values of JSON.parse, with bigints for integers beyond 2^53; on demand,
 * every number as it was sent. Used for the body of every response.
 */
import { randomUUID } from 'node:crypto'
import { exact } from '../../int64.js'
import { mayHoldWideIntegers, WIDE } from './wideintegers.js'

export interface Parsed {
  readonly value: unknown
  /** An escape for U+0000 or a surrogate, or an integer that is a bigint: flatten must look twice at every text. */
  readonly careful: boolean
}

/** A number as it was sent: a double would change 123456789012345.123456, and forget the zero of `1.10`. */
export class NumberToken {
  constructor(readonly text: string) {}
}

/** Which numbers of a JSON text are not left to JSON.parse, and how they are read. */
interface Reading {
  readonly pattern: RegExp
  /** The least number of characters between two strings that can hold such a number. */
  readonly shortest: number
  readonly value: (token: string) => unknown
}

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i

// Neither part of a longer number (fraction, exponent, a second sign), nor a key: JSON allows no number there.
const WIDE_INTEGER = new RegExp(`(?<![\\d.eE+-])-?[1-9]\\d{${WIDE - 1},}(?![\\d.eE])(?!\\s*:)`, 'g')

/** `bytes`: valid UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): Parsed {
  const escaped = bytes.includes('\\u') && SUSPECT_ESCAPE.test(bytes.toString('latin1'))
  const text = bytes.toString('utf8')
  if (!mayHoldWideIntegers(bytes)) return { value: JSON.parse(text), careful: escaped }
  let wide = false
  const integer = (digits: string): unknown => {
    const value = exact(BigInt(digits))
    if (typeof value === 'bigint') wide = true
    return value
  }
  const value = readApart(text, { pattern: WIDE_INTEGER, shortest: WIDE, value: integer })
  return { value, careful: escaped || wide }
}

/** As `parseJson`, with every number as a NumberToken. `bytes`: a body that `parseJson` took. */
export function parseTokens(bytes: Buffer): unknown {
  const value = (token: string): NumberToken => new NumberToken(token)
  return readApart(bytes.toString('utf8'), { pattern: /-?\d[\d.eE+-]*/g, shortest: 1, value })
}

/**
 * Makes a string of each number, behind a mark that no text can hold by chance, lets JSON.parse read the text, and then
 * replaces these strings.
 */
function readApart(text: string, reading: Reading): unknown {
  const mark = `number:${randomUUID()}:`
  const whole = { value: JSON.parse(quoteNumbers(text, reading, mark)) as unknown }
  const open: object[] = [whole]
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const members = holder as Record<string | number, unknown>
    const replace = (name: string | number, member: unknown): void => {
      if (typeof member === 'object' && member !== null) open.push(member)
      else if (typeof member === 'string' && member.startsWith(mark))
        members[name] = reading.value(member.slice(mark.length))
    }
    if (Array.isArray(holder)) holder.forEach((item, i) => void replace(i, item))
    else for (const name in members) replace(name, members[name])
  }
  return whole.value
}

/** Goes from string to string: the numbers stand between the strings. */
function quoteNumbers(text: string, { pattern, shortest }: Reading, mark: string): string {
  const parts: string[] = []
  let copied = 0
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    if (end - at >= shortest)
      for (const { 0: token, index } of text.slice(at, end).matchAll(pattern)) {
        parts.push(text.slice(copied, at + index), `"${mark}${token}"`)
        copied = at + index + token.length
      }
    at = quote < 0 ? end : endOfString(text, quote)
  }
  parts.push(text.slice(copied))
  return parts.join('')
}

function endOfString(text: string, quote: number): number {
  let end = quote
  for (;;) {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes++
    if (slashes % 2 === 0) return end + 1
  }
}

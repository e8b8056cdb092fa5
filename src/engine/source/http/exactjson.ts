/**
 * Parses JSON text without rounding: the values of JSON.parse, with bigints for integers beyond 2^53. On request, and
 * where doubles lose digits, numbers stay as they were sent. Used for the body of every response.
 */
import { randomBytes } from 'node:crypto'
import { exact } from '../../base/int64.js'
import { NumberToken } from '../../base/numbertoken.js'
import type { Reply } from '../source.js'
import { mayRound, WIDE } from './longnumbers.js'

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i

/** The body's part of a Reply. `bytes`: valid UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): Pick<Reply, 'value' | 'careful' | 'isOdd' | 'tokens'> {
  const careful = bytes.includes('\\u') && SUSPECT_ESCAPE.test(bytes.toString('latin1'))
  // Parsing with separate numbers is exact right away: a second parse, for the numbers in unknown fields, would cost as
  // much again.
  if (mayRound(bytes)) {
    const value = readApart(bytes, oddNumbersIn(bytes))
    return { value, careful, isOdd: () => false, tokens: () => value }
  }
  const value = JSON.parse(bytes.toString('utf8')) as unknown
  let places: readonly number[] | undefined
  const odd = (): readonly number[] => {
    places ??= oddNumbersIn(bytes)
    return places
  }
  return {
    value,
    careful,
    isOdd: () => odd().length > 0,
    tokens: () => (odd().length > 0 ? readApart(bytes, odd()) : value),
  }
}

const wholeNumber = /^-?\d+$/

/** Integers become bigints, which convert faster than tokens. */
const exactly = (token: string): unknown =>
  wholeNumber.test(token) && token !== '-0' ? exact(BigInt(token)) : new NumberToken(token)

/**
 * Turns each number into a string, behind a mark that no text contains by chance, lets JSON.parse read the text, and
 * then replaces these strings.
 */
function readApart(bytes: Buffer, places: readonly number[]): unknown {
  // The first character is rare, so checking it rules out nearly every text.
  const mark = `\x7f${randomBytes(6).toString('base64url')}`
  const whole = {
    value: JSON.parse(quoted(bytes, places, mark)) as unknown,
  }
  const first = mark.charCodeAt(0)
  const open: object[] = [whole]
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const members = holder as Record<string, unknown>
    for (const name in members) {
      const member = members[name]
      if (typeof member === 'object' && member !== null) open.push(member)
      else if (typeof member === 'string' && member.charCodeAt(0) === first && member.startsWith(mark))
        members[name] = exactly(member.slice(mark.length))
    }
  }
  return whole.value
}

const [quote, backslash, minus, colon] = [34, 92, 45, 58]
const table = (characters: string): Uint8Array => {
  const bytes = new Uint8Array(256)
  for (const byte of Buffer.from(characters)) bytes[byte] = 1
  return bytes
}
const isDigit = table('0123456789')
const isPointOrExponent = table('.eE+-')
const moreThanDigits = 2
/** 1 for digits, 2 for anything else a number may contain. */
const partOfNumber = isDigit.map((one, byte) => one + moreThanDigits * (isPointOrExponent[byte] ?? 0))
const isBlank = table(' \t\n\r')

/**
 * The alternating start and end positions of numbers that aren't left to JSON.parse: JavaScript prints them
 * differently, or they aren't safe integers. Only looks outside strings.
 */
function oddNumbersIn(bytes: Buffer): number[] {
  const places: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) {
      at++
      while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    } else if (byte === minus || isDigit[byte] === 1) {
      const first = at
      let parts = byte === minus ? moreThanDigits : 0
      for (let part = partOfNumber[bytes[at + 1] ?? 0]; part; part = partOfNumber[bytes[at + 1] ?? 0]) {
        parts |= part
        at++
      }
      const end = at + 1
      // Short, and only digits: most numbers are, and they are exact.
      if (parts < moreThanDigits && end - first < WIDE) continue
      if (isOdd(bytes.toString('latin1', first, end)) && !isKey(bytes, end)) places.push(first, end)
    }
  }
  return places
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Anything that isn't a JSON number is left to JSON.parse, which rejects it. */
function isOdd(token: string): boolean {
  if (!jsonNumber.test(token)) return false
  const number = Number(token)
  return String(number) !== token || (wholeNumber.test(token) && !Number.isSafeInteger(number))
}

/** Whether a colon follows: JSON allows no number there, but would accept the string made from it. */
function isKey(bytes: Buffer, from: number): boolean {
  let at = from
  while (isBlank[bytes[at] ?? 0] === 1) at++
  return bytes[at] === colon
}

/** Memory for a text, reused for every page: touching new memory takes longer than writing to it. */
let scratch = Buffer.allocUnsafeSlow(1 << 16)

/** The text with the mark and quotes around the part between each pair of positions. */
function quoted(bytes: Buffer, places: readonly number[], mark: string): string {
  const [before, after] = [Buffer.from(`"${mark}`), Buffer.from('"')]
  const length = bytes.length + (places.length / 2) * (before.length + after.length)
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2)
  const all = scratch
  let [to, from, opens] = [0, 0, true]
  for (const place of places) {
    // Byte by byte, because the pieces are too short to be worth a copy call.
    while (from < place) all[to++] = bytes[from++] ?? 0
    const piece = opens ? before : after
    for (let i = 0; i < piece.length; i++) all[to++] = piece[i] ?? 0
    opens = !opens
  }
  bytes.copy(all, to, from)
  return all.toString('utf8', 0, length)
}

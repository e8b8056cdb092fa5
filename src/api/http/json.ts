/**
 * JSON text to values without rounding: the values of JSON.parse, with bigints for integers beyond 2^53; on demand,
 * every number as it was sent. Used for the body of every response.
 */
import { randomBytes } from 'node:crypto'
import { exact } from '../../int64.js'
import { NumberToken } from '../../numbertoken.js'
import { longNumbers, WIDE } from './longnumbers.js'

export interface Parsed {
  readonly value: unknown
  /** The body holds an escape for U+0000 or a surrogate: flatten must look twice at every text. */
  readonly careful: boolean
  /** JSON.parse has rounded some number: its digits are in `parseTokens`. */
  readonly isLossy: boolean
}

/** Which numbers of a JSON text are not left to JSON.parse, and how they are read. */
interface Reading {
  readonly pattern: RegExp
  /** The least number of characters of such a number. */
  readonly shortest: number
  readonly value: (token: string) => unknown
}

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i

const wideIntegers: Reading = {
  pattern: new RegExp(`^-?[1-9]\\d{${WIDE - 1},}$`),
  shortest: WIDE,
  value: (token) => exact(BigInt(token)),
}
const allNumbers: Reading = { pattern: /^/, shortest: 1, value: (token) => new NumberToken(token) }

/** `bytes`: valid UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): Parsed {
  const careful = bytes.includes('\\u') && SUSPECT_ESCAPE.test(bytes.toString('latin1'))
  const { wide, lossy } = longNumbers(bytes)
  // Where digits are lost, the search has ended at the first number that loses some.
  const value =
    wide || lossy ? readApart(bytes, wideIntegers) : (JSON.parse(bytes.toString('utf8')) as unknown)
  return { value, careful, isLossy: lossy }
}

/** As `parseJson`, with every number as a NumberToken. `bytes`: a body that `parseJson` took. */
export const parseTokens = (bytes: Buffer): unknown => readApart(bytes, allNumbers)

/**
 * Makes a string of each number, behind a mark that no text can hold by chance, lets JSON.parse read the text, and then
 * replaces these strings.
 */
function readApart(bytes: Buffer, reading: Reading): unknown {
  // The first character is rare, so that a glance at it settles nearly every text.
  const mark = `\x7f${randomBytes(6).toString('base64url')}`
  const whole = {
    value: JSON.parse(quoted(bytes, numbersIn(bytes, reading), mark)) as unknown,
  }
  const first = mark.charCodeAt(0)
  const open: object[] = [whole]
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const members = holder as Record<string, unknown>
    for (const name in members) {
      const member = members[name]
      if (typeof member === 'object' && member !== null) open.push(member)
      else if (typeof member === 'string' && member.charCodeAt(0) === first && member.startsWith(mark))
        members[name] = reading.value(member.slice(mark.length))
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
const isOfNumber = table('0123456789.eE+-')
const isBlank = table(' \t\n\r')

/** Where the numbers of a reading begin and end, in turn: they stand between the strings. */
function numbersIn(bytes: Buffer, { pattern, shortest }: Reading): number[] {
  const places: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) {
      at++
      while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
    } else if (byte === minus || isDigit[byte] === 1) {
      const first = at
      while (isOfNumber[bytes[at + 1] ?? 0] === 1) at++
      const end = at + 1
      if (end - first < shortest || !pattern.test(bytes.toString('latin1', first, end))) continue
      if (!isKey(bytes, end)) places.push(first, end)
    }
  }
  return places
}

/** Whether a colon comes next: JSON allows no number there, but would allow the string that is made of it. */
function isKey(bytes: Buffer, from: number): boolean {
  let at = from
  while (isBlank[bytes[at] ?? 0] === 1) at++
  return bytes[at] === colon
}

/** Memory for a text, used again for every page: touching new memory takes longer than writing it. */
let scratch = Buffer.allocUnsafeSlow(1 << 16)

/** The text with the mark and quotes around what lies between each two places. */
function quoted(bytes: Buffer, places: readonly number[], mark: string): string {
  const [before, after] = [Buffer.from(`"${mark}`), Buffer.from('"')]
  const length = bytes.length + (places.length / 2) * (before.length + after.length)
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2)
  const all = scratch
  let [to, from, opens] = [0, 0, true]
  for (const place of places) {
    // Byte by byte: the pieces are too short for the calls of a copy.
    while (from < place) all[to++] = bytes[from++] ?? 0
    const piece = opens ? before : after
    for (let i = 0; i < piece.length; i++) all[to++] = piece[i] ?? 0
    opens = !opens
  }
  bytes.copy(all, to, from)
  return all.toString('utf8', 0, length)
}

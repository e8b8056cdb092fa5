import { randomUUID } from 'node:crypto'
import { jsonSource } from './utf8.js'

/** JSON text read without rounding, and whether the fast path of flatten may be taken for what it holds. */
export interface Parsed {
  readonly value: unknown
  /** An escape for U+0000 or a surrogate, or an integer of 16 digits and more outside of strings. */
  readonly careful: boolean
}

/** Every integer of fewer digits is exact as a number; from 16 on some are not. */
const WIDE = 16

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i

// Not part of a longer number (fraction, exponent, a second sign), nor a key, which JSON does not allow to be a number.
const WIDE_INTEGER = new RegExp(`(?<![\\d.eE+-])-?[1-9]\\d{${WIDE - 1},}(?![\\d.eE])(?!\\s*:)`, 'g')

/** `bytes`: valid UTF-8. Throws SyntaxError. */
export function parseJson(bytes: Buffer): Parsed {
  const escaped = bytes.includes('\\u') && SUSPECT_ESCAPE.test(bytes.toString('latin1'))
  const text = jsonSource(bytes)
  if (!hasWideDigits(bytes)) return { value: JSON.parse(text), careful: escaped }
  const mark = `int:${randomUUID()}:`
  const { text: marked, found, marks } = markWideIntegers(text, mark)
  if (marks === 0) return { value: JSON.parse(text), careful: escaped || found }
  const value: unknown = JSON.parse(marked, (_key, inner: unknown) =>
    typeof inner === 'string' && inner.startsWith(mark) ? BigInt(inner.slice(mark.length)) : inner,
  )
  return { value, careful: true }
}

/** As JSON.parse, but an integer that a number would round comes as bigint. */
export function parseLossless(text: string): unknown {
  return parseJson(Buffer.from(text)).value
}

const bytesOfWord = 4
const upperHalves = 0xf0f0f0f0 | 0
/** Four characters of `0` to `?`; of four digits, the same when 6 is added to each. */
const threes = 0x30303030
const sixes = 0x06060606

/** A run of 16 digits covers three words that follow one another, wherever it lies, so every third is looked at. */
function hasWideDigits(bytes: Uint8Array): boolean {
  const aligned = bytes.byteOffset % bytesOfWord === 0 ? bytes : Uint8Array.from(bytes)
  const { buffer, byteOffset, length } = aligned
  const words = new Int32Array(buffer, byteOffset, Math.floor(length / bytesOfWord))
  for (let at = 2; at < words.length; at += 3) {
    const word = words[at] ?? 0
    if ((word & upperHalves) === threes && ((word + sixes) & upperHalves) === threes)
      if (runAround(aligned, at * bytesOfWord) >= WIDE) return true
  }
  return false
}

/** How many digits stand together around this one. */
function runAround(bytes: Uint8Array, at: number): number {
  let first = at
  while (first > 0 && isDigit(bytes[first - 1])) first--
  let last = at
  while (isDigit(bytes[last + 1])) last++
  return last - first + 1
}

const isDigit = (byte = 0): boolean => byte >= 48 && byte <= 57

/** Walks from string to string; what stands between them holds the numbers. */
function markWideIntegers(text: string, mark: string): { text: string; found: boolean; marks: number } {
  const parts: string[] = []
  let found = false
  let marks = 0
  let at = 0
  while (at < text.length) {
    const quote = text.indexOf('"', at)
    const between = text.slice(at, quote < 0 ? text.length : quote)
    if (between.length < WIDE) parts.push(between)
    else
      parts.push(
        between.replace(WIDE_INTEGER, (digits) => {
          found = true
          if (Number.isSafeInteger(Number(digits))) return digits
          marks++
          return `"${mark}${digits}"`
        }),
      )
    if (quote < 0) break
    at = endOfString(text, quote)
    parts.push(text.slice(quote, at))
  }
  return { text: parts.join(''), found, marks }
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

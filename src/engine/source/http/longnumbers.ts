import { exactDouble } from '../../base/numbertoken.js'

/** Every integer with fewer digits is exact as a double; from 16 digits up, some aren't. */
export const WIDE = 16

const bytesOfWord = 4
const upperHalves = 0xf0f0f0f0 | 0
/** Four characters from `0` to `?`. For four digits, the upper halves don't change when 6 is added to each. */
const threes = 0x30303030
const sixes = 0x06060606

const at = (character: string): number => character.charCodeAt(0)
const [zero, minus, quote, colon] = [at('0'), at('-'), at('"'), at(':')]
const opening = [at('['), at(','), colon]
const closing = [at(']'), at('}'), at(',')]
const blanks = [at(' '), at('\t'), at('\n'), at('\r')]

const upperThirds = 0xe0e0e0e0 | 0
/** Four characters from the blank to `?`, which include the digits and the point. */
const twosAndThrees = 0x20202020

/**
 * Whether JSON text may contain a number of at least 16 digits that a double would round. A run of digits, with or
 * without a point, counts only if its surroundings allow it to be a number. A run inside a string that looks like one
 * gives a false yes, which costs time; there is no false no.
 */
export function mayRound(bytes: Buffer): boolean {
  const aligned = bytes.byteOffset % bytesOfWord === 0 ? bytes : Uint8Array.from(bytes)
  const { buffer, byteOffset, length } = aligned
  const words = new Int32Array(buffer, byteOffset, Math.floor(length / bytesOfWord))
  // A run of 16 characters covers three consecutive words, wherever it is, so it is enough to check every third word.
  for (let i = 2; i < words.length; i += 3) {
    const word = words[i] ?? 0
    if ((word & upperThirds) !== twosAndThrees) continue
    if ((word & upperHalves) !== threes || ((word + sixes) & upperHalves) !== threes) {
      if (!isOfRun(word)) continue
    }
    const inside = i * bytesOfWord
    let first = inside
    while (first > 0 && isRun[bytes[first - 1] ?? 0] === 1) first--
    let end = inside + bytesOfWord
    while (isRun[bytes[end] ?? 0] === 1) end++
    if (end - first >= WIDE && (isRoundedFraction(bytes, first, end) || isRoundedInteger(bytes, first, end)))
      return true
    // Skips the rest of this run: otherwise one of a million digits would be measured at every third word.
    i += 3 * Math.floor((end - inside) / (3 * bytesOfWord))
  }
  return false
}

const isRun = new Uint8Array(256)
for (const character of '0123456789.') isRun[character.charCodeAt(0)] = 1

/** Whether all four characters are digits or points. */
const isOfRun = (word: number): boolean =>
  isRun[word & 255] === 1 &&
  isRun[(word >> 8) & 255] === 1 &&
  isRun[(word >> 16) & 255] === 1 &&
  isRun[(word >> 24) & 255] === 1

const fraction = /^\d+\.\d+$/
const afterMantissa = /^[eE][+-]?\d+/
/** The longest exponent that is checked, in characters. */
const longestExponent = 12

/** Whether this run can be a number with a point or an exponent, and loses digits as a double. */
function isRoundedFraction(bytes: Buffer, first: number, end: number): boolean {
  const mantissa = bytes.toString('latin1', first, end)
  const [exponent = ''] = afterMantissa.exec(bytes.toString('latin1', end, end + longestExponent)) ?? []
  if (!fraction.test(mantissa) && (exponent === '' || !digitsOnly.test(mantissa))) return false
  if (!isWhole(bytes, first, end + exponent.length)) return false
  return exactDouble(mantissa + exponent) === undefined
}

const digitsOnly = /^\d+$/

/** Whether the surroundings allow a JSON number here. A sign may come before it. */
const isWhole = (bytes: Buffer, first: number, end: number): boolean =>
  beginsValue(bytes, bytes[first - 1] === minus ? first - 1 : first) && endsValue(bytes, end)

/** Whether this run of digits can be a whole number token, and loses digits as a double. */
function isRoundedInteger(bytes: Buffer, first: number, end: number): boolean {
  if (bytes[first] === zero || !digitsOnly.test(bytes.toString('latin1', first, end))) return false
  if (end - first === WIDE && Number.isSafeInteger(Number(bytes.toString('latin1', first, end)))) return false
  return isWhole(bytes, first, end)
}

/** Whether a JSON value can begin here: at the start, in an array, or after a key, which ends with a quote. */
function beginsValue(bytes: Buffer, first: number): boolean {
  const before = skipBlanks(bytes, first - 1, -1)
  const byte = bytes[before]
  if (byte === undefined) return true
  if (byte === colon) return bytes[skipBlanks(bytes, before - 1, -1)] === quote
  return opening.includes(byte)
}

function endsValue(bytes: Buffer, end: number): boolean {
  const byte = bytes[skipBlanks(bytes, end, 1)]
  return byte === undefined || closing.includes(byte)
}

/** The first position from here on that isn't blank. */
function skipBlanks(bytes: Buffer, from: number, step: 1 | -1): number {
  let place = from
  while (blanks.includes(bytes[place] ?? 0)) place += step
  return place
}

import { exactDouble } from '../../base/numbertoken.js'

/** Every integer of fewer digits is exact as a double; from 16 on some are not. */
export const WIDE = 16

const bytesOfWord = 4
const upperHalves = 0xf0f0f0f0 | 0
/** Four characters of `0` to `?`; of four digits, the upper halves stay the same when 6 is added to each. */
const threes = 0x30303030
const sixes = 0x06060606

const at = (character: string): number => character.charCodeAt(0)
const [zero, minus, quote, colon] = [at('0'), at('-'), at('"'), at(':')]
const opening = [at('['), at(','), colon]
const closing = [at(']'), at('}'), at(',')]
const blanks = [at(' '), at('\t'), at('\n'), at('\r')]

const upperThirds = 0xe0e0e0e0 | 0
/** Four characters from the blank to `?`, among them the digits and the point. */
const twosAndThrees = 0x20202020

/**
 * Whether JSON text may hold a number of 16 digits and more that a double would round. Only a run of digits, with a
 * point in it or not, counts that can be a number by what stands around it. Such a run inside of a string makes the
 * answer a false yes, which costs time; there is no false no.
 */
export function mayRound(bytes: Buffer): boolean {
  const aligned = bytes.byteOffset % bytesOfWord === 0 ? bytes : Uint8Array.from(bytes)
  const { buffer, byteOffset, length } = aligned
  const words = new Int32Array(buffer, byteOffset, Math.floor(length / bytesOfWord))
  // A run of 16 characters covers three words that follow one another, wherever it lies, so every third is looked at.
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
    // Not a second time into the same run: one of a million digits would be measured at every third word.
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
/** The characters of the longest exponent that is looked at. */
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

/** Whether a JSON number can stand there, by what is around it. A sign may stand before it. */
const isWhole = (bytes: Buffer, first: number, end: number): boolean =>
  beginsValue(bytes, bytes[first - 1] === minus ? first - 1 : first) && endsValue(bytes, end)

/** Whether this run of digits can be a whole number token, and loses digits as a double. */
function isRoundedInteger(bytes: Buffer, first: number, end: number): boolean {
  if (bytes[first] === zero || !digitsOnly.test(bytes.toString('latin1', first, end))) return false
  if (end - first === WIDE && Number.isSafeInteger(Number(bytes.toString('latin1', first, end)))) return false
  return isWhole(bytes, first, end)
}

/** Whether a JSON value can begin here: at the start, in an array, or behind a key, which ends with a quote. */
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

/** The first place from here on that holds no blank. */
function skipBlanks(bytes: Buffer, from: number, step: 1 | -1): number {
  let place = from
  while (blanks.includes(bytes[place] ?? 0)) place += step
  return place
}

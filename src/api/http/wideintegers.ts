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

/**
 * Whether JSON text may hold an integer that a double would round. Only a run of 16 digits and more counts that can be
 * a number by what stands around it. Such a run inside of a string makes the answer a false yes, which costs time;
 * there is no false no.
 */
export function mayHoldWideIntegers(bytes: Buffer): boolean {
  const aligned = bytes.byteOffset % bytesOfWord === 0 ? bytes : Uint8Array.from(bytes)
  const { buffer, byteOffset, length } = aligned
  const words = new Int32Array(buffer, byteOffset, Math.floor(length / bytesOfWord))
  // A run of 16 digits covers three words that follow one another, wherever the run lies, so every third is looked at.
  for (let i = 2; i < words.length; i += 3) {
    const word = words[i] ?? 0
    if ((word & upperHalves) !== threes || ((word + sixes) & upperHalves) !== threes) continue
    const inside = i * bytesOfWord
    let first = inside
    while (first > 0 && isDigit(bytes[first - 1])) first--
    let end = inside + bytesOfWord
    while (isDigit(bytes[end])) end++
    if (end - first >= WIDE && isWideInteger(bytes, first, end)) return true
    // Not a second time into the same run: one of a million digits would be measured at every third word.
    i += 3 * Math.floor((end - inside) / (3 * bytesOfWord))
  }
  return false
}

const isDigit = (byte = 0): boolean => byte >= 48 && byte <= 57

/** Whether this run of digits can be a whole number token, and loses digits as a double. */
function isWideInteger(bytes: Buffer, first: number, end: number): boolean {
  if (bytes[first] === zero) return false
  if (end - first === WIDE && Number.isSafeInteger(Number(bytes.toString('latin1', first, end)))) return false
  return beginsValue(bytes, bytes[first - 1] === minus ? first - 1 : first) && endsValue(bytes, end)
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

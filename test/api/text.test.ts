import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonSource } from '../../src/api/http/utf8.js'

const outcome = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return 'refused'
  }
}

/** The bytes at some place in memory: read from a socket they lie anywhere. */
function placed(text: string, offset: number): Buffer {
  const bytes = Buffer.from(text)
  const memory = Buffer.allocUnsafeSlow(bytes.length + offset + 8).fill(0xe9)
  bytes.copy(memory, offset)
  return memory.subarray(offset, offset + bytes.length)
}

const plain = 'Measured rotors with a micrometer, found 1.2 mm below minimum on the left. '
const characters = ['é', 'ÿ', 'Ā', '“', '\u2028', '\uffff', '\u0800', '😀', '\u{10ffff}', '\u0080', '\\', '"']
const stretch = fc.oneof(
  fc.nat({ max: 20_000 }).map((length) => plain.repeat(1 + length / plain.length).slice(0, length)),
  fc.nat({ max: 70 }).map((length) => plain.slice(0, length)),
  fc.constantFrom(...characters),
  fc.string({ unit: 'binary' }),
)
const texts = fc.array(fc.array(stretch, { maxLength: 12 }), { minLength: 1, maxLength: 8 })
/** Large enough to be made narrow, most of them. */
const documents = texts.map((list) =>
  JSON.stringify([plain.repeat(240), ...list.map((parts) => parts.join(''))]),
)
const offsets = fc.integer({ min: 0, max: 8 })

describe('JSON text in one byte a character', () => {
  it('says what the UTF-8 says, wherever it lies in memory and whatever characters it holds', () => {
    fc.assert(
      fc.property(documents, offsets, (text, offset) => {
        const bytes = placed(text, offset)
        expect(JSON.parse(jsonSource(bytes))).toEqual(JSON.parse(bytes.toString('utf8')))
      }),
      { numRuns: 1000 },
    )
  })

  it('is JSON only where the UTF-8 is', () => {
    const where = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 18_003))
    fc.assert(
      fc.property(documents, where, fc.constantFrom(...characters), offsets, (text, at, extra, offset) => {
        const cut = at % (text.length + 1)
        const bytes = placed(text.slice(0, cut) + extra + text.slice(cut), offset)
        expect(outcome(jsonSource(bytes))).toEqual(outcome(bytes.toString('utf8')))
      }),
      { numRuns: 1000 },
    )
  })

  it.each(['\\é', '\\“', '\\\\“', '\\😀'])(
    'never makes an escape of what follows a backslash: %s',
    (inside) => {
      const bytes = placed(`["${plain.repeat(300)}${inside}"]`, 0)
      expect(outcome(jsonSource(bytes))).toEqual(outcome(bytes.toString('utf8')))
    },
  )

  it('holds a page with some quotes and names in one byte a character, and one of another script in two', () => {
    const isNarrow = (text: string): boolean => /^[\0-\x7f]*$/.test(jsonSource(placed(text, 0)))
    const quoted = `${plain.repeat(20)}“squeals”, says José Núñez 😀`
    expect(isNarrow(JSON.stringify(Array(40).fill(quoted)))).toBe(true)
    expect(isNarrow(JSON.stringify(Array(400).fill('Колодки скрипят, диски в порядке')))).toBe(false)
  })
})

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactDouble, NumberToken } from '../../../src/engine/base/numbertoken.js'
import { toJson } from '../../../src/engine/base/printjson.js'
import { parseJson } from '../../../src/engine/source/http/exactjson.js'
import { mayRound } from '../../../src/engine/source/http/longnumbers.js'
import { sized } from '../../support/harness/size.js'

/** The independent reader's number: every integer is exact. */
const exactInteger = (token: string): unknown => {
  const plain = JSON.parse(token) as number
  const digits = token.replace('-', '')
  if (!/^\d+$/.test(digits) || digits.length < 16 || Number.isSafeInteger(plain)) return plain
  return BigInt(token)
}

/** Reads valid JSON independently of the client: by a pattern of its numbers, each of which is put in its place afterwards. */
function read(text: string, numeral: (token: string) => unknown = exactInteger): unknown {
  const mark = randomUUID()
  const numbers: unknown[] = []
  const apart = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*/gs, (part) =>
    part.startsWith('"') ? part : `"${mark}${numbers.push(numeral(part)) - 1}"`,
  )
  return JSON.parse(apart, (_, value) =>
    typeof value === 'string' && value.startsWith(mark) ? numbers[Number(value.slice(mark.length))] : value,
  )
}

const parsed = (text: string): unknown => parseJson(Buffer.from(text)).value

const outcome = (reader: (text: string) => unknown, text: string): unknown => {
  try {
    return { value: reader(text) }
  } catch {
    return 'refused'
  }
}

const digits = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 30 })
  .map((list) => list.join('').replace(/^0+(?=\d)/, ''))
const near = fc
  .tuple(fc.constantFrom(2n ** 53n, 10n ** 15n, 10n ** 16n, 2n ** 63n), fc.integer({ min: -3, max: 3 }))
  .map(([center, delta]) => String(center + BigInt(delta)))
const integer = fc.tuple(fc.constantFrom('', '-'), fc.oneof(digits, near)).map((parts) => parts.join(''))
const fraction = fc.tuple(integer, digits).map(([whole, rest]) => `${whole}.${rest}`)
const exponent = fc
  .tuple(fc.oneof(integer, fraction), fc.constantFrom('e', 'E', 'e+', 'E-'), fc.integer({ min: 0, max: 400 }))
  .map((parts) => parts.join(''))
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  integer,
  fc.constantFrom('\\', '"', '\\"1234567890123456789', '","id":12345678901234567890,"', 'number:'),
  // JSON text: the characters around the digits inside the string are the same as around a number.
  fc
    .tuple(
      fc.constantFrom('[', ',', ':', '":', '{"a":', 'no. '),
      integer,
      fc.constantFrom(']', ' ,', '}', '.', ''),
    )
    .map((parts) => parts.join('')),
)
const space = fc.constantFrom('', ' ', '\n\t')
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(
      integer,
      fraction,
      exponent,
      text.map((t) => JSON.stringify(t)),
      fc.constantFrom('true', 'false', 'null'),
    ),
    fc
      .tuple(space, fc.array(tie('json'), { maxLength: 5 }))
      .map(([s, items]) => `[${s}${items.join(`${s},`)}${s}]`),
    fc
      .array(fc.tuple(text, space, tie('json')), { maxLength: 5 })
      .map(
        (entries) =>
          `{${entries.map(([key, s, value]) => `${JSON.stringify(key)}${s}:${s}${value}`).join(',')}}`,
      ),
  ),
}))

/** Lists of numbers with digits on both sides of a point, anywhere in the text. */
const decimals = fc
  .array(
    fc.tuple(
      fc.bigInt({ min: 0n, max: 10n ** 17n }),
      fc.stringMatching(/^[0-9]{1,18}$/),
      fc.constantFrom('', 'e3', 'E-2'),
    ),
  )
  .map(
    (all) => `["${'x'.repeat(all.length)}",${[...all.map(([a, b, e]) => `${a}.${b}${e}`), '1'].join(',')}]`,
  )

/** Numbers of up to 17 digits, each as a double prints it. */
const doubles = fc
  .array(fc.double({ noNaN: true, min: -1e15, max: 1e15 }))
  .map((list) => JSON.stringify(['x'.repeat(list.length), ...list]))

/** A number as it was sent: as a value if JavaScript, or a bigint, prints the same text. */
const asSent = (token: string): unknown => {
  const value = exactInteger(token)
  return String(value) === token ? value : new NumberToken(token)
}

const brokenLongNumbers = [
  ...['{12345678901234567:1}', '[00000000000000000001]', '[-012345678901234567]', '[--12345678901234567]'],
  ...['[+12345678901234567]', '[1 12345678901234567]', '[12345678901234567.]', '["a"12345678901234567]'],
  '12345678901234567"',
]

/** Usual bodies with many digits, of which none is rounded. */
const harmless = [
  // A double prints these with 17 digits.
  '{"rate":0.30000000000000004,"other":-1.0000000000000002}',
  '{"token":"4111111111111111","vin":"1FTFW1ET5DFC10312345678901234567"}',
  '"sent as 92748902008012345678, arrived; see no: 92748902008012345678 ,too"',
  '[1234567890123456,-9007199254740991]',
  '["x",0.0000000000000000000000]',
  '["2026-01-01T00:00:00.123456Z","1.10","v 1.2.3, a"]',
]

const tokensOf = (source: string): string[] => {
  const all: string[] = []
  read(source, (token) => all.push(token))
  return all
}

/** Whether it has many digits, and a double would round it. */
const isRounded = (token: string): boolean =>
  (/^-?([\d.]+)/.exec(token)?.[1]?.length ?? 0) >= 16 && exactDouble(token) === undefined

const numRuns = sized(400, 2000)

describe('JSON without rounding', () => {
  it('reads like an independent reader, whatever is in strings, keys, fractions and exponents; and shows numbers as they were sent', ({
    skip,
  }) => {
    skip(
      Number.parseFloat(process.versions.v8) >= 13.6,
      'V8 may read an escaped key as a backslash: nodejs/node#63785',
    )
    fc.assert(
      fc.property(json, (source) => {
        const bytes = Buffer.from(source)
        const { value, tokens } = parseJson(bytes)
        const sent = read(source, asSent)
        expect(value).toEqual(mayRound(bytes) ? sent : read(source))
        expect(tokens()).toEqual(sent)
      }),
      { numRuns },
    )
  })

  it('detects every number with many digits that a double would round, and every one that prints differently', () => {
    fc.assert(
      fc.property(fc.oneof(json, decimals), (source) => {
        const tokens = tokensOf(source)
        const bytes = Buffer.from(source)
        if (tokens.some((token) => !/^-?\d+$/.test(token) && isRounded(token)))
          expect(mayRound(bytes)).toBe(true)
        // Anything that may be rounded is read exactly right away, so nothing odd is left.
        const isOdd = tokens.some((token) => String(Number(token)) !== token)
        expect(parseJson(bytes).isOdd()).toBe(isOdd && !mayRound(bytes))
      }),
      { numRuns },
    )
  })

  it('treats no number that a double holds as rounded, and no usual text', () => {
    const examples = harmless.flatMap((source) =>
      Array.from({ length: 12 }, (_, lead): [string] => [' '.repeat(lead) + source]),
    )
    fc.assert(
      fc.property(fc.oneof(decimals, doubles), (source) => {
        expect(mayRound(Buffer.from(source))).toBe(tokensOf(source).some(isRounded))
      }),
      { numRuns: numRuns + examples.length, examples },
    )
  })

  it('rejects what JSON.parse rejects, and nothing else', () => {
    const broken = fc
      .tuple(
        json,
        fc.nat(),
        fc.constantFrom('', '0', '-', '.', 'e', '"', ',', '{', '12345678901234567', '+', ' '),
      )
      .map(([source, at, piece]) => {
        const cut = at % (source.length + 1)
        return source.slice(0, cut) + piece + source.slice(cut + 1)
      })
    fc.assert(
      fc.property(broken, (source) => {
        expect(outcome(parsed, source) === 'refused').toBe(outcome(JSON.parse, source) === 'refused')
      }),
      { numRuns: 2 * numRuns, examples: brokenLongNumbers.map((source) => [source]) },
    )
  })

  it('finds an integer of at least 16 digits wherever it is in the text, and wherever the text is in memory', () => {
    for (let offset = 0; offset < 8; offset++)
      for (let lead = 0; lead < 32; lead++)
        for (let length = 14; length < 20; length++) {
          const digits = '9'.repeat(length)
          const source = `[${' '.repeat(lead)}${digits}]`
          // The memory around it also contains digits.
          const memory = Buffer.alloc(offset + source.length + 16, '9')
          memory.write(source, offset)
          const { value } = parseJson(memory.subarray(offset, offset + source.length))
          expect(value).toEqual([length < 16 ? Number(digits) : BigInt(digits)])
        }
  })

  it('keeps a key named __proto__ a key', () => {
    const value = parsed('{"__proto__":12345678901234567890}') as object
    expect(Object.entries(value)).toEqual([['__proto__', 12345678901234567890n]])
  })

  it('prints bigints as integers and everything else like JSON.stringify', () => {
    const leaf = fc.oneof(fc.bigInt(), fc.maxSafeInteger(), fc.string({ unit: 'binary' }), fc.boolean())
    const values = fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf)))
    const smallest = (value: unknown): unknown =>
      typeof value === 'bigint' && Number.isSafeInteger(Number(value))
        ? Number(value)
        : Array.isArray(value)
          ? value.map(smallest)
          : value
    fc.assert(
      fc.property(values, (value) => {
        const entries = Object.entries(value).map(([key, inner]) => [key, smallest(inner)])
        expect(Object.entries(parseJson(Buffer.from(toJson(value))).value as object)).toEqual(entries)
      }),
    )
    expect(toJson({ id: 9007199254740993n, text: 'int:1', none: undefined })).toBe(
      '{"id":9007199254740993,"text":"int:1"}',
    )
    expect(toJson(undefined)).toBe('null')
  })

  it.each([
    ['"\\u0000"', true],
    ['"\\uDfFf"', true],
    // A bigint has no effect on the texts next to it.
    ['[9007199254740993]', false],
    ['{"id" : -12345678901234567 }', false],
    ['[1234567890123456]', false],
    ['[12345678901234567.0, 12345678901234567e3]', false],
    ['["12345678901234567"]', false],
    ['"\\u00e4\\u2028"', false],
  ])('flags whether %s needs care: %s', (source, careful) => {
    expect(parseJson(Buffer.from(source)).careful).toBe(careful)
  })

  it('scans a page of nothing but digits once', () => {
    expect(mayRound(Buffer.from(`["${'7'.repeat(5_000_000)}"]`))).toBe(false)
  })
})

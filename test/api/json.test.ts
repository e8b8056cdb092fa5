import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson, parseLossless } from '../../src/api/http/json.js'
import { toJson } from '../../src/json.js'

/** An independent reader: character by character, by the grammar, every integer exact. */
function read(text: string): unknown {
  let at = 0
  const space = (): void => {
    while (' \t\n\r'.includes(text[at] ?? 'x')) at++
  }
  const value = (): unknown => {
    space()
    const c = text[at]
    const result =
      c === '{'
        ? object()
        : c === '['
          ? array()
          : c === '"'
            ? string()
            : /[-\d]/.test(c ?? '')
              ? number()
              : word()
    space()
    return result
  }
  const expectChar = (c: string): void => {
    if (text[at++] !== c) throw new SyntaxError(`expected ${c}`)
  }
  const list = (open: string, close: string, item: () => void): void => {
    expectChar(open)
    space()
    if (text[at] === close) return void at++
    for (;;) {
      item()
      if (text[at] === close) return void at++
      expectChar(',')
    }
  }
  const array = (): unknown[] => {
    const items: unknown[] = []
    list('[', ']', () => items.push(value()))
    return items
  }
  const object = (): Record<string, unknown> => {
    const result: Record<string, unknown> = {}
    list('{', '}', () => {
      space()
      const key = string()
      space()
      expectChar(':')
      Object.defineProperty(result, key, {
        value: value(),
        enumerable: true,
        writable: true,
        configurable: true,
      })
    })
    return result
  }
  const string = (): string => {
    const begin = at
    expectChar('"')
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    expectChar('"')
    return JSON.parse(text.slice(begin, at))
  }
  const number = (): unknown => {
    const begin = at
    while (/[-+.\deE]/.test(text[at] ?? 'x')) at++
    const token = text.slice(begin, at)
    const plain = JSON.parse(token) as number
    const digits = token.replace('-', '')
    if (!/^\d+$/.test(digits) || digits.length < 16 || Number.isSafeInteger(plain)) return plain
    return BigInt(token)
  }
  const word = (): unknown => {
    for (const [name, meaning] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const)
      if (text.startsWith(name, at)) {
        at += name.length
        return meaning
      }
    throw new SyntaxError('no value')
  }
  const result = value()
  if (at < text.length) throw new SyntaxError('more than one value')
  return result
}

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
  fc.constantFrom('\\', '"', '\\"1234567890123456789', '","id":12345678901234567890,"', 'int:'),
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

describe('JSON without rounding', () => {
  it('reads as an independent reader does, whatever stands in strings, keys, fractions and exponents', () => {
    fc.assert(
      fc.property(json, (source) => {
        expect(parseLossless(source)).toEqual(read(source))
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses what JSON.parse refuses, and nothing else', () => {
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
        expect(outcome(parseLossless, source) === 'refused').toBe(outcome(JSON.parse, source) === 'refused')
      }),
      { numRuns: 5000 },
    )
  })

  it.each([
    '{12345678901234567:1}',
    '[00000000000000000001]',
    '[-012345678901234567]',
    '[--12345678901234567]',
    '[+12345678901234567]',
    '[1 12345678901234567]',
    '[12345678901234567.]',
    '["a"12345678901234567]',
    '12345678901234567"',
  ])('refuses %s', (source) => {
    expect(() => JSON.parse(source)).toThrow(SyntaxError)
    expect(() => parseLossless(source)).toThrow(SyntaxError)
  })

  it('keeps ids exactly, and numbers that are exact as numbers', () => {
    expect(
      parseLossless('[9007199254740991,9007199254740992,9007199254740993,-9223372036854775808]'),
    ).toEqual([9007199254740991, 9007199254740992n, 9007199254740993n, -9223372036854775808n])
    expect(parseLossless('[1234567890123456.5,1e21,0.12345678901234567890]')).toEqual([
      1234567890123456.5, 1e21, 0.12345678901234568,
    ])
  })

  it('finds an integer of 16 digits and more wherever it lies in the text and the text in memory', () => {
    for (let offset = 0; offset < 8; offset++)
      for (let lead = 0; lead < 32; lead++)
        for (let length = 14; length < 20; length++) {
          const digits = '9'.repeat(length)
          const source = `[${' '.repeat(lead)}${digits}]`
          // What lies around it in memory are digits too.
          const memory = Buffer.alloc(offset + source.length + 16, '9')
          memory.write(source, offset)
          const { value } = parseJson(memory.subarray(offset, offset + source.length))
          expect(value).toEqual([length < 16 ? Number(digits) : BigInt(digits)])
        }
  })

  it('keeps a key named __proto__ a key', () => {
    const value = parseLossless('{"__proto__":12345678901234567890}') as object
    expect(Object.entries(value)).toEqual([['__proto__', 12345678901234567890n]])
  })

  it('prints bigints as integers and everything else as JSON.stringify does', () => {
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
        expect(Object.entries(parseLossless(toJson(value)) as object)).toEqual(entries)
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
    ['[1234567890123456]', true],
    ['[1234567890123456.0]', false],
    ['["1234567890123456"]', false],
    ['"\\u00e4\\u2028"', false],
  ])('says of %s whether it wants care: %s', (source, careful) => {
    expect(parseJson(Buffer.from(source)).careful).toBe(careful)
  })
})

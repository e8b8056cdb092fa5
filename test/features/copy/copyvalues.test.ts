/** A value on its way between two warehouses: nothing changes silently, and a value has the same text on both sides. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Kind } from '../../../schema/resource.js'
import { isSameNumber } from '../../../src/engine/base/numbertoken.js'
import {
  carrierOf,
  jsonValueText,
  numberText,
  type Passage,
  Unfit,
} from '../../../src/features/copy/copyvalues.js'
import { copyStep } from '../../../src/features/copy/words.js'

const toPostgres: Passage = { from: 'double', to: 'numeric' }
const toSqlite: Passage = { from: 'numeric', to: 'double' }

/** As Postgres prints a numeric: without an exponent. */
function printed(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text) ?? []
  const point = whole.length + Number(exponent)
  const digits = (whole + fraction).padEnd(point, '0')
  return point <= 0
    ? `${sign}0.${'0'.repeat(-point)}${digits}`
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}0`
}

const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?$/)

describe('numbers', () => {
  it('have one text, however they are written', () => {
    const written = fc.tuple(digits, fc.integer({ min: 0, max: 30 }), fc.boolean())
    fc.assert(
      fc.property(written, ([text, zeros, hasPoint]) => {
        const longer =
          text.includes('.') || hasPoint
            ? `${text.includes('.') ? text : `${text}.`}${'0'.repeat(zeros + 1)}`
            : text
        expect(numberText(longer)).toBe(numberText(text))
        expect(numberText(`${text}e0`)).toBe(numberText(text))
      }),
    )
  })

  it('have a different text than every other number', () => {
    fc.assert(
      fc.property(digits, digits, (a, b) => {
        expect(numberText(a) === numberText(b)).toBe(isSameNumber(a, b))
      }),
    )
    expect(numberText('1e400')).not.toBe(numberText('1e401'))
  })

  it('that fit a double survive the way to Postgres and back', () => {
    const [there, back] = [carrierOf('number', toPostgres), carrierOf('number', toSqlite)]
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(back(printed(String(there(value))))).toBe(value + 0)
      }),
    )
  })

  it("beyond a double don't fit SQLite, but fit Postgres", () => {
    const beyond = '123456789012345.123456'
    expect(carrierOf('number', toSqlite)(beyond)).toEqual(new Unfit('a number that a double cannot hold'))
    expect(carrierOf('number', { from: 'numeric', to: 'numeric' })(beyond)).toBe(beyond)
    expect(carrierOf('number', toSqlite)('33.3333333333333333')).toBe(33.333333333333336)
    expect(carrierOf('number', toSqlite)('NaN')).toBeInstanceOf(Unfit)
  })
})

describe('JSON', () => {
  it('has one text, in any order and with any spaces', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned = JSON.stringify(value, (_, inner: unknown) =>
          typeof inner === 'object' && inner !== null && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).reverse())
            : inner,
        )
        expect(jsonValueText(JSON.stringify(JSON.parse(turned), null, 2))).toBe(
          jsonValueText(JSON.stringify(value)),
        )
      }),
    )
  })

  it('distinguishes a number from its text, and every digit from the next', () => {
    const all = [
      '1',
      '"1"',
      '"=1"',
      '[1]',
      '{"1":1}',
      '{"1":"1"}',
      '1e400',
      '1e401',
      '0.1',
      '0.10000000000000000001',
      'null',
      '"null"',
      '{"__proto__":1}',
      '{}',
    ]
    expect(new Set(all.map(jsonValueText)).size).toBe(all.length)
    expect(jsonValueText('{"b":1.10,"a":1e2}')).toBe(jsonValueText('{"a": 100, "b": 1.1}'))
  })

  it.each([
    ['{"a":1e400}', '{"a":1e400}'],
    ['{"a":"x\\u0000y"}', '{"a":"x\ufffdy"}'],
    ['{"a":"\\ud800","b":"\\\\u0000","c":"\\ud83d\\udee0"}', '{"a":"\ufffd","b":"\\\\u0000","c":"🛠"}'],
    ['{"a":1e200000}', new Unfit('a number that numeric cannot hold')],
    ['{"a":"1e200000"}', '{"a":"1e200000"}'],
    ['{"a":', new Unfit('not JSON')],
  ])('%s on the way into jsonb', (text, expected) => {
    expect(carrierOf('json', toPostgres)(text)).toEqual(expected)
  })

  it("loses jsonb's spaces, but none inside a text", () => {
    expect(carrierOf('json', toSqlite)('{"a b": [1.10, "c, d: \\" e"], "f": {}}')).toBe(
      '{"a b":[1.10,"c, d: \\" e"],"f":{}}',
    )
  })
})

/** What a person may have written into a SQLite file, which accepts anything anywhere. */
const odd: [Kind, unknown, unknown][] = [
  ['integer', '12', 12],
  ['integer', 1.5, new Unfit('not a whole number')],
  ['cents', 'x', new Unfit('not the text of an integer')],
  ['id', 9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
  ['boolean', 2, new Unfit('not a boolean')],
  ['text', 'a\u0000b', 'a\ufffdb'],
  ['text', Buffer.from('x'), new Unfit('not a text')],
  ['timestamp', '2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05.000000Z'],
  ['timestamp', 'yesterday', new Unfit('not a timestamp with a zone')],
  ['day', '2026-1-2', new Unfit('not a day')],
  ['number', 'x', new Unfit('not the text of a number')],
  ['json', 5, '5'],
  ['text', null, null],
]

it.each(odd)('%s: %o is converted, or refused with a reason', (kind, value, expected) => {
  expect(carrierOf(kind, toPostgres)(value as never)).toEqual(expected)
})

it('the progress line: a realistic time to go, the pass, the table', () => {
  const at = { pass: 'copying', table: 'notes', tables: 3, allTables: 60, rows: 250, allRows: 1000 } as const
  expect(copyStep(at, 500)).toBe('copying notes (4 of 60)')
  expect(copyStep(at, 10_000)).toBe('about 30 s to go, copying notes (4 of 60)')
  expect(copyStep({ ...at, pass: 'comparing', rows: 999, tables: 60 }, 40_000)).toBe(
    'about 0.0 s to go, comparing notes (60 of 60)',
  )
})

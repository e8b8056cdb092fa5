import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Kind } from '../../../schema/resource.js'
import { convert } from '../../../src/engine/model/flatten/convert.js'

const REFUSED = Symbol('refused')
/** What values become: each line begins with that, and all that follows in it becomes it. */
const cases: Readonly<Record<Kind, readonly (readonly [becomes: unknown, ...given: unknown[]])[]>> = {
  id: [
    [7, 7, '7'],
    [12, 12n],
    [9007199254740993n, 9007199254740993n],
    [9223372036854775807n, '9223372036854775807'],
    [-9223372036854775808n, -9223372036854775808n],
    [REFUSED, '9223372036854775808', 9223372036854775808n, 2 ** 53, {}],
  ],
  integer: [
    [0, -0, '-0'],
    [12, '0012'],
    [5, '+5'],
    [REFUSED, true, '', ' 5', '5 miles', '0x10'],
  ],
  cents: [
    [1200, 1200.0, '1200', '1200.0', '1200.'],
    [REFUSED, 12.5, '12.5', '1e3', [], Number.POSITIVE_INFINITY],
  ],
  number: [
    [0, -0, '-0.00'],
    [1.5, 1.5, '1.50'],
    [0.1, '0.1', '0.10000000000000001'],
    [1500, '1.5e3'],
    [1e-7, '1e-7'],
    [9007199254740992, 9007199254740992n],
    [REFUSED, '9007199254740993', 9007199254740993n, Number.POSITIVE_INFINITY, '1e999', 'NaN', '', false],
  ],
  boolean: [
    [true, true, 'true', 1, '1'],
    [false, 'false', 0, -0, '0'],
    [REFUSED, 2, 'yes', 'True', '', {}],
  ],
  text: [
    ['', ''],
    ['Zoë 🚗', 'Zoë 🚗'],
    ['12345', 12345],
    ['1200', 1200.0],
    ['9007199254740993', 9007199254740993n],
    ['true', true],
    ['a\ufffdb', 'a\u0000b'],
    [REFUSED, '\ud83d', {}, []],
  ],
  timestamp: [
    ['2024-01-01T00:00:00.000000Z', '2024-01-01T01:00:00+01:00'],
    [REFUSED, '2024-01-01T01:00:00', '', 1704067200],
  ],
  day: [
    ['2024-02-29', '2024-02-29'],
    [REFUSED, '2023-02-29', '2024-01-01T00:00:00Z', 20240101],
  ],
  json: [
    ['{"a":[1,9007199254740993]}', { a: [1, 9007199254740993n] }],
    ['"x"', 'x'],
    ['{"k\ufffd":"\ufffd\ufffd"}', { 'k\u0000': '\ud83d\u0000' }],
    ['0', -0],
  ],
}

describe.each(Object.entries(cases))('%s', (kind, rows) => {
  test.each(rows.flatMap(([becomes, ...given]) => given.map((one) => [one, becomes])))(
    '%o',
    (given, becomes) => {
      const refused = { value: null, reason: expect.any(String) }
      const converted = convert[kind as Kind](given)
      expect(converted).toMatchObject(becomes === REFUSED ? refused : { value: becomes, reason: null })
    },
  )
})

test('reports what was replaced', () => {
  expect(convert.text('a\u0000').replaced).toBe(true)
  expect(convert.json({ a: '\u0000' }).replaced).toBe(true)
  expect(convert.text('a').replaced).toBe(false)
})

test('JSON that is nested too deep is refused without throwing', () => {
  let deep: unknown = 1
  for (let i = 0; i < 100_000; i++) deep = [deep]
  expect(convert.json(deep)).toMatchObject({ value: null, reason: 'nested too deeply' })
})

test('every double survives as text, every integer text as an integer, and JSON as the same value', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(convert.number(String(value))).toMatchObject({ value: value + 0, reason: null })
    }),
  )
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      expect(BigInt(convert.id(String(value)).value as number)).toBe(value)
      expect(convert.id(value)).toEqual(convert.id(String(value)))
    }),
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const same = JSON.parse(JSON.stringify(value)) as unknown
      expect(JSON.parse(String(convert.json(value).value))).toEqual(same)
    }),
  )
})

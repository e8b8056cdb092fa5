import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Kind } from '../../../schema/resource.js'
import { convert } from '../../../src/engine/model/flatten/convert.js'

const REFUSED = Symbol('refused')
const cases: Readonly<Record<Kind, readonly (readonly [unknown, unknown])[]>> = {
  id: [
    [7, 7],
    ['7', 7],
    [9007199254740993n, 9007199254740993n],
    [12n, 12],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', REFUSED],
    [9223372036854775808n, REFUSED],
    [-9223372036854775808n, -9223372036854775808n],
    [2 ** 53, REFUSED],
    [{}, REFUSED],
  ],
  integer: [
    [-0, 0],
    ['-0', 0],
    ['0012', 12],
    ['+5', 5],
    [true, REFUSED],
    ['', REFUSED],
    [' 5', REFUSED],
    ['5 miles', REFUSED],
    ['0x10', REFUSED],
  ],
  cents: [
    [1200.0, 1200],
    ['1200', 1200],
    ['1200.0', 1200],
    ['1200.', 1200],
    [12.5, REFUSED],
    ['12.5', REFUSED],
    ['1e3', REFUSED],
    [[], REFUSED],
    [Number.POSITIVE_INFINITY, REFUSED],
  ],
  number: [
    [1.5, 1.5],
    [-0, 0],
    ['1.50', 1.5],
    ['0.1', 0.1],
    ['-0.00', 0],
    ['1.5e3', 1500],
    ['1e-7', 1e-7],
    ['0.10000000000000001', 0.1],
    ['9007199254740993', REFUSED],
    [9007199254740992n, 9007199254740992],
    [9007199254740993n, REFUSED],
    [Number.POSITIVE_INFINITY, REFUSED],
    ['1e999', REFUSED],
    ['NaN', REFUSED],
    ['', REFUSED],
    [false, REFUSED],
  ],
  boolean: [
    [true, true],
    ['false', false],
    ['true', true],
    [1, true],
    [0, false],
    [-0, false],
    ['1', true],
    ['0', false],
    [2, REFUSED],
    ['yes', REFUSED],
    ['True', REFUSED],
    ['', REFUSED],
    [{}, REFUSED],
  ],
  text: [
    ['', ''],
    ['Zoë 🚗', 'Zoë 🚗'],
    [12345, '12345'],
    [1200.0, '1200'],
    [9007199254740993n, '9007199254740993'],
    [true, 'true'],
    ['a\u0000b', 'a\ufffdb'],
    ['\ud83d', REFUSED],
    [{}, REFUSED],
    [[], REFUSED],
  ],
  timestamp: [
    ['2024-01-01T01:00:00+01:00', '2024-01-01T00:00:00.000000Z'],
    ['2024-01-01T01:00:00', REFUSED],
    ['', REFUSED],
    [1704067200, REFUSED],
  ],
  day: [
    ['2024-02-29', '2024-02-29'],
    ['2023-02-29', REFUSED],
    ['2024-01-01T00:00:00Z', REFUSED],
    [20240101, REFUSED],
  ],
  json: [
    [{ a: [1, 9007199254740993n] }, '{"a":[1,9007199254740993]}'],
    ['x', '"x"'],
    [{ 'k\u0000': '\ud83d\u0000' }, '{"k\ufffd":"\ufffd\ufffd"}'],
    [-0, '0'],
  ],
}

for (const [kind, rows] of Object.entries(cases)) {
  describe(kind, () => {
    test.each(rows)(`%o`, (given, expected) => {
      const converted = convert[kind as Kind](given)
      if (expected === REFUSED) expect(converted).toMatchObject({ value: null, reason: expect.any(String) })
      else expect(converted).toMatchObject({ value: expected, reason: null })
    })
  })
}

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

test('every double survives as text, and every integer text as an integer', () => {
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
})

test('JSON text is JSON of the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const same = JSON.parse(JSON.stringify(value)) as unknown
      expect(JSON.parse(String(convert.json(value).value))).toEqual(same)
    }),
  )
})

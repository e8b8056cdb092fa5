import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addMicros,
  canonical,
  endOfSecond,
  fromMicros,
  toMicros,
} from '../../../src/engine/base/timestamp.js'

const FIRST = BigInt(Date.UTC(2001, 0, 1)) * 1000n - (2000n * 365n + 485n) * 86_400_000_000n
const LAST = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59)) * 1000n + 999_999n
const instants = fc.bigInt({ min: FIRST, max: LAST })

/** Computes the expected text with Date, which is correct to the millisecond, and appends the microseconds. */
function byDate(micros: bigint): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n
  const text = new Date(Number((micros - rest) / 1000n)).toISOString()
  return `${text.slice(-24, -1)}${String(rest).padStart(3, '0')}Z`
}

describe('canonical', () => {
  test.each([
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000000Z'],
    ['2024-02-29T23:59:59.123Z', '2024-02-29T23:59:59.123000Z'],
    ['2024-02-29T23:59:59.123456Z', '2024-02-29T23:59:59.123456Z'],
    ['2024-02-29T23:59:59.1Z', '2024-02-29T23:59:59.100000Z'],
    ['2024-02-29T23:59:59.123456000Z', '2024-02-29T23:59:59.123456Z'],
    ['2024-02-29 23:59:59Z', '2024-02-29T23:59:59.000000Z'],
    ['2024-02-29T23:59:59+00:00', '2024-02-29T23:59:59.000000Z'],
    ['2024-02-29T23:59:59-00:30', '2024-03-01T00:29:59.000000Z'],
    ['2024-03-01T00:30:00.5+0100', '2024-02-29T23:30:00.500000Z'],
    ['2024-12-31T20:00:00-07', '2025-01-01T03:00:00.000000Z'],
    ['20240229T235959+0000', '2024-02-29T23:59:59.000000Z'],
    ['2024-02-29T23:59Z', '2024-02-29T23:59:00.000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['0000-12-31T23:00:00-02:00', '0001-01-01T01:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s', (text, expected) => expect(canonical(text)).toBe(expected))

  test.each([
    ['without a zone', '2024-02-29T23:59:59'],
    ['without a zone, 24 long', '2024-02-29T23:59:59.1234'],
    ['a date', '2024-02-29'],
    ['empty', ''],
    ['no leap year', '2023-02-29T00:00:00Z'],
    ['no leap century', '1900-02-29T00:00:00.000Z'],
    ['month 13', '2024-13-01T00:00:00Z'],
    ['month 0', '2024-00-01T00:00:00.000000Z'],
    ['31 April', '2024-04-31T00:00:00Z'],
    ['day 0', '2024-04-00T00:00:00Z'],
    ['hour 24', '2024-04-01T24:00:00Z'],
    ['minute 60', '2024-04-01T00:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['finer than a microsecond', '2024-04-01T00:00:00.0000001Z'],
    ['year 0', '0000-01-01T00:00:00Z'],
    ['before year 1 in UTC', '0001-01-01T00:00:00+01:00'],
    ['after year 9999 in UTC', '9999-12-31T23:59:59-01:00'],
    ['an offset of 24 hours', '2024-04-01T00:00:00+24:00'],
    ['a letter among the digits', '2024-04-0aT00:00:00Z'],
    ['a letter in the fraction', '2024-04-01T00:00:00.00a000Z'],
    ['a sign among the digits', '2024-04-+1T00:00:00Z'],
    ['something behind it', '2024-04-01T00:00:00Z '],
  ])('refuses %s', (_, text) => expect(canonical(text)).toBeNull())

  test('reads every way of printing an instant, in any zone, as the same instant', () => {
    const offsets = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 })
    const separators = fc.constantFrom('', ':')
    const between = fc.constantFrom('T', ' ', 't')
    const inside = fc.bigInt({ min: FIRST + 86_400_000_000n, max: LAST - 86_400_000_000n })
    fc.assert(
      fc.property(inside, offsets, separators, between, (micros, offset, colon, letter) => {
        const local = byDate(micros + BigInt(offset) * 60_000_000n)
          .slice(0, -1)
          .replace('T', letter)
        const minutes = Math.abs(offset)
        const two = (n: number): string => String(n).padStart(2, '0')
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${colon}${two(minutes % 60)}`
        expect(canonical(local + zone)).toBe(byDate(micros))
      }),
    )
  })
})

test('text and microseconds are the same instant, in both directions and in the same order', () => {
  fc.assert(
    fc.property(instants, instants, (a, b) => {
      expect(fromMicros(a)).toBe(byDate(a))
      expect(toMicros(fromMicros(a))).toBe(a)
      expect(canonical(fromMicros(a))).toBe(fromMicros(a))
      expect(fromMicros(a) < fromMicros(b)).toBe(a < b)
    }),
  )
})

test('adding is exact, across every border', () => {
  expect(addMicros('2024-02-28T23:59:59.999999Z', 1n)).toBe('2024-02-29T00:00:00.000000Z')
  expect(addMicros('1970-01-01T00:00:00.000000Z', -1n)).toBe('1969-12-31T23:59:59.999999Z')
  // Beyond what can be expressed, the nearest instant.
  expect(addMicros('9999-12-31T23:59:59.999999Z', 1n)).toBe('9999-12-31T23:59:59.999999Z')
  expect(addMicros('0001-01-01T00:00:00.000000Z', -1n)).toBe('0001-01-01T00:00:00.000000Z')
})

test('the end of a second is its last microsecond', () => {
  expect(endOfSecond('2024-02-29T12:00:00.700000Z')).toBe('2024-02-29T12:00:00.999999Z')
})

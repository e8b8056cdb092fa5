/** The exact arithmetic of the rules: rounding, and numbers by their digits. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asInt64, asNumber, nanos, rounded, unit, wholeOf } from '../../schema/exact.js'

const big = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
const divisor = big.filter((n) => n !== 0n)
const size = (n: bigint): bigint => (n < 0n ? -n : n)

describe('a quotient', () => {
  it('is off by half at most, and by a half only away from zero', () => {
    fc.assert(
      fc.property(big, divisor, (top, bottom) => {
        const twice = 2n * size(rounded(top, bottom) * bottom - top)
        expect(twice <= size(bottom)).toBe(true)
        if (twice === size(bottom)) expect(size(rounded(top, bottom) * bottom) > size(top)).toBe(true)
      }),
    )
  })

  it('has the sign of both sides, whichever of them is negative', () => {
    fc.assert(
      fc.property(big, divisor, (top, bottom) => {
        expect(rounded(-top, bottom)).toBe(-rounded(top, bottom))
        expect(rounded(top, -bottom)).toBe(-rounded(top, bottom))
      }),
    )
  })
})

describe('nanos', () => {
  /** Decimal text of a whole number with so many decimals. */
  const decimal = (n: bigint, places: number): string => {
    const digits = String(size(n)).padStart(places + 1, '0')
    return `${n < 0n ? '-' : ''}${digits.slice(0, -places || undefined)}${places > 0 ? `.${digits.slice(-places)}` : ''}`
  }

  it('are the digits of a text, rounded at the ninth', () => {
    fc.assert(
      fc.property(big, fc.integer({ min: 0, max: 30 }), (n, places) => {
        expect(nanos(decimal(n, places))).toBe(rounded(n * unit, 10n ** BigInt(places)))
      }),
    )
  })

  it('are those of the digits that a double is printed with', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e12, max: 1e12 }), (n) => {
        expect(nanos(n)).toBe(nanos(String(n)))
      }),
      { numRuns: 2000 },
    )
  })

  it('are exact where nine decimals are', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n }), (n) => {
        expect(nanos(Number(decimal(n, 9)))).toBe(n)
        expect(asNumber(n)).toBe(Number(decimal(n, 9)))
      }),
      { numRuns: 2000 },
    )
  })

  it('of halves go away from zero', () => {
    expect([5e-10, -5e-10, 4.9e-10, 15e-10, 25e-10].map((n) => nanos(n))).toEqual([1n, -1n, 0n, 2n, 3n])
    expect(['0.0000000005', '-0.0000000015', '5e-10'].map((n) => nanos(n))).toEqual([1n, -2n, 1n])
  })

  it('of what is no number are none', () => {
    expect([null, true, 'x', ''].map((n) => nanos(n))).toEqual([null, null, null, null])
    expect(nanos(12n)).toBe(12n * unit)
    expect((nanos('1e5000') ?? 0n) > 10n ** 30n).toBe(true)
    expect(nanos('1e-5000')).toBe(0n)
  })
})

it('numbers beyond a double keep their digits', () => {
  expect(asNumber(123456789_123456789n)).toBe('123456789.123456789')
  expect(asNumber(-2_000_000_000_000_000_000n)).toBe('-2000000000')
  expect(asInt64(2n ** 60n)).toBe(2n ** 60n)
  expect([asInt64(5n), asInt64(null), wholeOf(5), wholeOf(5n), wholeOf(1.5), wholeOf('5')]).toEqual([
    5,
    null,
    5n,
    5n,
    null,
    null,
  ])
})

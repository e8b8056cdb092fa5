/** The exact arithmetic of the rules: rounding, and numbers by their digits. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asNumber, minus, nanos, plus, rounded, times, unit, wholeOf } from '../../schema/exact.js'

const big = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
const size = (n: bigint): bigint => (n < 0n ? -n : n)

describe('nanos', () => {
  /** Decimal text of an integer with this many decimals. */
  const decimal = (n: bigint, places: number): string => {
    const digits = String(size(n)).padStart(places + 1, '0')
    return `${n < 0n ? '-' : ''}${digits.slice(0, -places || undefined)}${places > 0 ? `.${digits.slice(-places)}` : ''}`
  }

  it('are the digits of a text, rounded at the ninth', () => {
    fc.assert(
      fc.property(big, fc.integer({ min: 0, max: 30 }), (n, places) => {
        expect(nanos(decimal(n, places))).toBe(rounded(n * BigInt(unit), 10n ** BigInt(places)))
      }),
    )
  })

  it('are the printed digits of a double, exact with nine decimals', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, min: -1e12, max: 1e12 }),
        fc.bigInt(-(10n ** 14n), 10n ** 14n),
        (n, whole) => {
          expect(nanos(n)).toBe(nanos(String(n)))
          expect(nanos(Number(decimal(whole, 9)))).toBe(Number(whole))
          expect(asNumber(Number(whole))).toBe(Number(decimal(whole, 9)))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('round halves away from zero', () => {
    expect([5e-10, -5e-10, 4.9e-10, 15e-10, 25e-10].map((n) => nanos(n))).toEqual([1, -1, 0, 2, 3])
    expect(['0.0000000005', '-0.0000000015', '5e-10'].map((n) => nanos(n))).toEqual([1, -2, 1])
  })

  it('are null for anything but numbers', () => {
    expect([null, true, 'x', ''].map((n) => nanos(n))).toEqual([null, null, null, null])
    expect(nanos(12n)).toBe(12 * unit)
    expect((nanos('1e5000') ?? 0) > 10n ** 30n).toBe(true)
    expect(nanos('1e-5000')).toBe(0)
  })
})

it('keep the digits of numbers beyond a double', () => {
  expect(asNumber(123456789_123456789n)).toBe('123456789.123456789')
  expect(asNumber(-2_000_000_000_000_000_000n)).toBe('-2000000000')
  expect([wholeOf(2n ** 60n), wholeOf(5), wholeOf(5n), wholeOf(1.5), wholeOf('5')]).toEqual([
    2n ** 60n,
    5,
    5,
    null,
    null,
  ])
})

describe('numbers and bigints', () => {
  /** Around the largest safe number, around its square root, and small ones. */
  const whole = fc
    .tuple(
      fc.constantFrom(0n, 2n ** 53n, -(2n ** 53n), 94_906_265n, -94_906_265n, 10n ** 20n, -(10n ** 24n)),
      fc.bigInt(-50n, 50n),
    )
    .map(([near, by]) => near + by)
  const either = (n: bigint) => wholeOf(n) ?? 0

  it('give the same result as bigints, as a number whenever one is safe', () => {
    const same = (found: number | bigint, wanted: bigint): void => {
      expect(BigInt(found)).toBe(wanted)
      expect(typeof found).toBe(Number.isSafeInteger(Number(wanted)) ? 'number' : 'bigint')
      expect(Object.is(found, -0)).toBe(false)
    }
    fc.assert(
      fc.property(whole, whole, (a, b) => {
        same(plus(either(a), either(b)), a + b)
        same(minus(either(a), either(b)), a - b)
        same(times(either(a), either(b)), a * b)
        if (b === 0n) return
        const up = (2n * size(a) + size(b)) / (2n * size(b))
        same(rounded(either(a), either(b)), a < 0n === b < 0n ? up : -up)
      }),
      { numRuns: 3000 },
    )
  })
})

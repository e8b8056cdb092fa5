/**
 * Exact arithmetic for the rules of derived tables. Money is whole cents. Hours, quantities, percentages and rates are
 * whole billionths, *nanos*: what lies behind the ninth decimal is the noise of a binary float, and SQL can do the same
 * with whole numbers on both warehouses. No product passes through a binary float.
 */
import type { Stored } from './derive.js'
import type { Int64 } from './resource.js'

/** Nanos of 1. */
export const unit = 1_000_000_000n

/** A quotient, rounded to a whole number, half away from zero. */
export function rounded(numerator: bigint, denominator: bigint): bigint {
  const twice = 2n * (numerator < 0n ? -numerator : numerator)
  const divisor = denominator < 0n ? -denominator : denominator
  const size = (twice + divisor) / (2n * divisor)
  return numerator < 0n === denominator < 0n ? size : -size
}

/** More places than any number of the rules has: such a text is of an absurd number, or of nothing. */
const mostPlaces = 40n

/** Nanos of decimal text; null where it is no number. */
function nanosOfText(text: string): bigint | null {
  const found = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (!found) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = found
  const digits = BigInt(whole + fraction)
  const shift = 9n + BigInt(exponent) - BigInt(fraction.length)
  const size =
    digits === 0n || shift < -BigInt(whole.length + fraction.length)
      ? 0n
      : shift < 0n
        ? rounded(digits, 10n ** -shift)
        : digits * 10n ** (shift > mostPlaces ? mostPlaces : shift)
  return sign === '-' ? -size : size
}

/** Below it the product of a double and a billion is off by less than a quarter. */
const largestFast = 2 ** 50

/** A number in nanos, half away from zero; null where there is none. */
export function nanos(value: Stored): bigint | null {
  if (value === null || typeof value === 'boolean') return null
  if (typeof value === 'bigint') return value * unit
  if (typeof value === 'string') return nanosOfText(value)
  const scaled = value * 1e9
  const near = Math.round(scaled)
  // A half is decided by the digits that people see: 0.0000000005 is no double.
  if (Math.abs(near) < largestFast && Math.abs(scaled - near) < 0.25) return BigInt(near)
  return nanosOfText(String(value))
}

/** A whole number; null where there is none. */
export function wholeOf(value: Stored): bigint | null {
  if (typeof value === 'bigint') return value
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : null
}

/** As tables hold it. */
export function asInt64(value: bigint | null): Int64 | null {
  if (value === null) return null
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}

/** Up to so many nanos the nearest double is printed as the very decimal. */
const mostExact = 1_000_000_000_000_000n

/** Nanos as a number column holds them: decimal text where a double would lose digits. */
export function asNumber(value: bigint): number | string {
  const size = value < 0n ? -value : value
  if (size < mostExact) return Number(value) / 1e9
  const fraction = String(size % unit)
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${size / unit}${fraction === '' ? '' : `.${fraction}`}`
}

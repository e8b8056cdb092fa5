/**
 * Exact arithmetic for the rules of derived tables. Money is whole cents. Hours, quantities, percentages and rates are
 * whole billionths, *nanos*: what lies behind the ninth decimal is the noise of a binary float, and SQL can do the same
 * with whole numbers on both warehouses. A product is a binary float only where that is exact.
 */
import type { Stored } from './derive.js'

/** A whole number of any size, as a bigint only where no number is safe: bigints take many times as long. */
export type Whole = number | bigint

/** Nanos of 1. */
export const unit = 1_000_000_000

function narrow(value: bigint): Whole {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}

/** A sum, product or difference of numbers that is not safe as one is rounded to another that is not safe either. */
export function plus(a: Whole, b: Whole): Whole {
  const sum = typeof a === 'number' && typeof b === 'number' ? a + b : Number.NaN
  return Number.isSafeInteger(sum) ? sum : narrow(BigInt(a) + BigInt(b))
}

export function minus(a: Whole, b: Whole): Whole {
  const difference = typeof a === 'number' && typeof b === 'number' ? a - b : Number.NaN
  return Number.isSafeInteger(difference) ? difference : narrow(BigInt(a) - BigInt(b))
}

export function times(a: Whole, b: Whole): Whole {
  // -0 is no whole number.
  const product = typeof a === 'number' && typeof b === 'number' ? a * b + 0 : Number.NaN
  return Number.isSafeInteger(product) ? product : narrow(BigInt(a) * BigInt(b))
}

/** A quotient, rounded to a whole number, half away from zero. */
export function rounded(numerator: Whole, denominator: Whole): Whole {
  const isNegative = numerator < 0 !== denominator < 0
  if (typeof numerator !== 'number' || typeof denominator !== 'number')
    return narrow(roundedBig(BigInt(numerator), BigInt(denominator), isNegative))
  const divisor = Math.abs(denominator)
  const rest = Math.abs(numerator) % divisor
  // What is divided is a multiple of the divisor, so that the quotient is exact.
  const size = (Math.abs(numerator) - rest) / divisor + (2 * rest >= divisor ? 1 : 0)
  return isNegative ? 0 - size : size
}

function roundedBig(numerator: bigint, denominator: bigint, isNegative: boolean): bigint {
  const twice = 2n * (numerator < 0n ? -numerator : numerator)
  const divisor = denominator < 0n ? -denominator : denominator
  const size = (twice + divisor) / (2n * divisor)
  return isNegative ? -size : size
}

/** More places than any number of the rules has: such a text is of an absurd number, or of nothing. */
const mostPlaces = 40n

/** Nanos of decimal text; null where it is no number. */
function nanosOfText(text: string): Whole | null {
  const found = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (!found) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = found
  const digits = BigInt(whole + fraction)
  const shift = 9n + BigInt(exponent) - BigInt(fraction.length)
  const size =
    digits === 0n || shift < -BigInt(whole.length + fraction.length)
      ? 0n
      : shift < 0n
        ? roundedBig(digits, 10n ** -shift, false)
        : digits * 10n ** (shift > mostPlaces ? mostPlaces : shift)
  return narrow(sign === '-' ? -size : size)
}

/** Below it the product of a double and a billion is off by less than a quarter. */
const largestFast = 2 ** 50

/** A number in nanos, half away from zero; null where there is none. */
export function nanos(value: Stored): Whole | null {
  if (typeof value === 'number') {
    const scaled = value * 1e9
    const near = Math.round(scaled)
    // A half is decided by the digits that people see: 0.0000000005 is no double.
    if (Math.abs(near) < largestFast && Math.abs(scaled - near) < 0.25) return near + 0
    return nanosOfText(String(value))
  }
  if (typeof value === 'bigint') return times(value, unit)
  return typeof value === 'string' ? nanosOfText(value) : null
}

/** A whole number; null where there is none. */
export function wholeOf(value: Stored): Whole | null {
  if (typeof value === 'bigint') return narrow(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : null
}

/** Up to so many nanos the nearest double is printed as the very decimal. */
const mostExact = 1e15

/** Nanos as a number column holds them: decimal text where a double would lose digits. */
export function asNumber(value: Whole): number | string {
  if (typeof value === 'number' && Math.abs(value) < mostExact) return value / unit
  const size = BigInt(value < 0 ? -value : value)
  const fraction = String(size % BigInt(unit))
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${value < 0 ? '-' : ''}${size / BigInt(unit)}${fraction === '' ? '' : `.${fraction}`}`
}

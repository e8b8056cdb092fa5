/**
 * Exact arithmetic for the rules of derived tables. Money is whole cents. Hours, quantities, percentages and rates are
 * whole billionths, *nanos*: digits beyond the ninth decimal are floating-point noise, and SQL can do the same with
 * integers in both warehouses. A product is a binary float only if that is exact.
 */
import type { Stored } from './derive.js'

/** An integer of any size, as a bigint only if no number is safe: bigints are many times slower. */
export type Whole = number | bigint

/** Nanos of 1. */
export const unit = 1_000_000_000

function narrow(value: bigint): Whole {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : value
}

/** A sum, product or difference of numbers that isn't safe is rounded to another that isn't safe either. */
export function plus(a: Whole, b: Whole): Whole {
  const sum = typeof a === 'number' && typeof b === 'number' ? a + b : Number.NaN
  return Number.isSafeInteger(sum) ? sum : narrow(BigInt(a) + BigInt(b))
}

export function minus(a: Whole, b: Whole): Whole {
  const difference = typeof a === 'number' && typeof b === 'number' ? a - b : Number.NaN
  return Number.isSafeInteger(difference) ? difference : narrow(BigInt(a) - BigInt(b))
}

export function times(a: Whole, b: Whole): Whole {
  // Avoids -0.
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
  // The dividend is a multiple of the divisor, so the quotient is exact.
  const size = (Math.abs(numerator) - rest) / divisor + (2 * rest >= divisor ? 1 : 0)
  return isNegative ? 0 - size : size
}

function roundedBig(numerator: bigint, denominator: bigint, isNegative: boolean): bigint {
  const twice = 2n * (numerator < 0n ? -numerator : numerator)
  const divisor = denominator < 0n ? -denominator : denominator
  const size = (twice + divisor) / (2n * divisor)
  return isNegative ? -size : size
}

/** More decimals than any number in the rules has: such a text is an absurd number, or not a number. */
const mostPlaces = 40n

/** Nanos of a decimal text; null if it isn't a number. */
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

/** Below this, the product of a double and a billion is off by less than a quarter. */
const largestFast = 2 ** 50

/** A number in nanos, rounded half away from zero; null if there is none. */
export function nanos(value: Stored): Whole | null {
  if (typeof value === 'number') {
    const scaled = value * 1e9
    const near = Math.round(scaled)
    // A half is decided by the digits that people see: 0.0000000005 is not a double.
    if (Math.abs(near) < largestFast && Math.abs(scaled - near) < 0.25) return near + 0
    return nanosOfText(String(value))
  }
  if (typeof value === 'bigint') return times(value, unit)
  return typeof value === 'string' ? nanosOfText(value) : null
}

/** An integer; null if there is none. */
export function wholeOf(value: Stored): Whole | null {
  if (typeof value === 'bigint') return narrow(value)
  return typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : null
}

/** Up to this many nanos, the nearest double is printed as exactly this decimal. */
const mostExact = 1e15

/** Nanos as a number column stores them: decimal text if a double would lose digits. */
export function asNumber(value: Whole): number | string {
  if (typeof value === 'number' && Math.abs(value) < mostExact) return value / unit
  const size = BigInt(value < 0 ? -value : value)
  const fraction = String(size % BigInt(unit))
    .padStart(9, '0')
    .replace(/0+$/, '')
  return `${value < 0 ? '-' : ''}${size / BigInt(unit)}${fraction === '' ? '' : `.${fraction}`}`
}

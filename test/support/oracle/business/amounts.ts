/**
 * Amounts as docs/totals.md counts them: billionths of hours and units, whole cents, and which of them count as unknown.
 * Shares no code with the product.
 */

export interface Fields {
  readonly [name: string]: unknown
}
export type Row = Record<string, unknown>

export const unit = 10n ** 9n
const absurdCents = 9n * 10n ** 9n
const absurdPrice = 10n ** 9n
/** Of one line. Sums, percentages and rates may be larger. */
const absurdHours = 10n ** 5n
const absurdUnits = 10n ** 6n
/** For a tax, or for a percentage of a sum. */
export const absurdSum = 9n * 10n ** 15n

export const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

/** A quotient, rounded half away from zero. */
export function divided(top: bigint, bottom: bigint): bigint {
  const size = (2n * magnitude(top) + magnitude(bottom)) / (2n * magnitude(bottom))
  return top < 0n === bottom < 0n ? size : -size
}

/** Hours, quantities, rates in billionths, from the decimals that a person reads; null if unknown or absurd. */
export function nanos(value: unknown, absurd = unit): bigint | null {
  if (typeof value !== 'number') return null
  const [decimals = '', exponent = '0'] = String(value).replace(/^-/, '').split('e')
  const [whole = '', fraction = ''] = decimals.split('.')
  const shift = Number(exponent) - fraction.length + 9
  const power = 10n ** BigInt(Math.abs(shift))
  const digits = BigInt(whole + fraction)
  const size = shift < 0 ? divided(digits, power) : digits * power
  return size >= absurd * unit ? null : value < 0 ? -size : size
}

/** Cents that count; null if unknown or absurd. */
export function cents(value: unknown): bigint | null {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return null
  return magnitude(BigInt(value)) >= absurdCents ? null : BigInt(value)
}

export const hoursOf = (value: unknown): bigint | null => nanos(value, absurdHours)
export const unitsOf = (value: unknown): bigint | null => nanos(value, absurdUnits)

/** The price or cost of one unit; null if unknown or absurd. */
export function priceOf(value: unknown): bigint | null {
  if (typeof value !== 'number') return null
  return magnitude(BigInt(value)) >= absurdPrice ? null : BigInt(value)
}

/** The value of units at a price; null if unknown or absurd. */
export function worth(units: bigint | null, price: unknown): bigint | null {
  if (units === 0n) return 0n
  const each = priceOf(price)
  if (units === null || each === null) return null
  const amount = divided(units * each, unit)
  return magnitude(amount) >= absurdCents ? null : amount
}

export const sum = (values: readonly (bigint | null)[]): bigint =>
  values.reduce<bigint>((all, one) => all + (one ?? 0n), 0n)
/** Sums of columns that rows have under the same names. */
export const sums = (rows: readonly Row[], columns: string): Row =>
  Object.fromEntries(
    columns.split(' ').map((name) => [name, sum(rows.map((row) => row[name] as bigint | null))]),
  )
export const unknowns = (values: readonly (bigint | null)[]): number =>
  values.filter((value) => value === null).length
/** null as soon as one is. */
export const sumOfAll = (values: readonly (bigint | null)[]): bigint | null =>
  values.includes(null) ? null : sum(values)

export const list = (record: Fields, name: string): readonly Fields[] =>
  (record[name] as Fields[] | null | undefined) ?? []

/** Hours or units as a view shows them: no sum of 10^9 and more. */
export const shownNanos = (value: bigint | null): number | null =>
  value === null || magnitude(value) >= unit * unit ? null : Number(value) / 1e9

/**
 * Numbers as they were sent. A double would round 123456789012345.123456 and drop the zero of `1.10`; a token keeps the
 * text. src/engine/source makes tokens, src/engine/model/flatten converts them.
 */

export class NumberToken {
  constructor(readonly text: string) {}
}

/** How a warehouse stores number columns: as doubles, or with every digit. */
export type NumberForm = 'double' | 'numeric'

/** A number without zeros at either end: `0.digits` times ten to the power of `point`. */
interface Decimal {
  readonly negative: boolean
  /** Empty for zero. */
  readonly digits: string
  readonly point: number
}

/** `text`: a JSON number, or one with a plus sign. */
export function decimalOf(text: string): Decimal {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const all = whole + fraction
  const digits = all.replace(/^0+/, '')
  const point = whole.length - (all.length - digits.length) + Number(exponent)
  return { negative: sign === '-', digits: digits.replace(/0+$/, ''), point: digits === '' ? 0 : point }
}

/** Whether two texts write the same number. */
function isSameNumber(a: string, b: string): boolean {
  const [one, other] = [decimalOf(a), decimalOf(b)]
  if (one.digits !== other.digits || one.point !== other.point) return false
  return one.digits === '' || one.negative === other.negative
}

/** The nearest double if it has exactly the value of the text. undefined if digits would be lost. */
export function exactDouble(text: string): number | undefined {
  const near = Number(text)
  return Number.isFinite(near) && isSameNumber(String(near), text) ? near + 0 : undefined
}

const decimals = 30
/** Half a unit of the ninth decimal place, scaled to that many decimals. */
const tolerance = 5n * 10n ** BigInt(decimals - 10)
/** Doubles from here on print with an exponent, and are far apart. */
const largest = 1e21

/** A number with 30 decimals, without the point. Further decimals are cut off. */
function scaled({ negative, digits, point }: Decimal): bigint {
  const places = point + decimals
  const value = places <= 0 ? 0n : BigInt(digits.slice(0, places).padEnd(places, '0') || '0')
  return negative ? -value : value
}

/** The nearest double if it agrees with the text to nine decimals. */
export function nearDouble(text: string): number | undefined {
  const near = Number(text)
  if (!(Math.abs(near) < largest)) return undefined
  const distance = scaled(decimalOf(text)) - scaled(decimalOf(near.toFixed(decimals)))
  return (distance < 0n ? -distance : distance) <= tolerance ? near + 0 : undefined
}

/** How many digits Postgres' numeric can hold before and after the point. */
const mostBefore = 131_000
const mostBehind = 16_000

/** Whether a numeric can hold the number. */
export function fitsNumeric(text: string): boolean {
  const { digits, point } = decimalOf(text)
  const [, fraction = '', exponent = '0'] = /^[^.eE]*(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  return (
    point <= mostBefore &&
    digits.length - point <= mostBehind &&
    fraction.length - Number(exponent) <= mostBehind
  )
}

/**
 * An order's total, in whole cents. Used by money.ts. Exact: hours, quantities and percentages are whole numbers of
 * billionths, and only lines, discounts and taxes are rounded. Shares no code with the product's own formula.
 */
const BILLION = 1_000_000_000n
const PERCENT = 100n * BILLION

/** Billionths of a number as written. Anything beyond is rounded half away from zero. */
export function billionths(value: number): bigint {
  if (Number.isInteger(value)) return BigInt(value) * BILLION
  const written = Math.abs(value).toString()
  // Only numbers below a millionth are written with an exponent here.
  const [whole = '0', fraction = ''] = (/e/.test(written) ? Math.abs(value).toFixed(20) : written).split('.')
  const size = BigInt(whole + fraction.slice(0, 9).padEnd(9, '0')) + (fraction.charAt(9) >= '5' ? 1n : 0n)
  return value < 0 ? -size : size
}

/** The quotient as a whole number, rounded half away from zero. `divisor` is above zero. */
export function nearest(dividend: bigint, divisor: bigint): bigint {
  const size = dividend < 0n ? -dividend : dividend
  const quotient = (size * 2n + divisor) / (divisor * 2n)
  return dividend < 0n ? -quotient : quotient
}

/** A line without a price is free. */
const times = (quantity: number, cents: number | null): bigint =>
  nearest(billionths(quantity) * BigInt(cents ?? 0), BILLION)

interface Billed {
  readonly taxable: boolean
  readonly part_tax_rate: number
  readonly labor_tax_rate: number
  readonly sublet_tax_rate: number
  readonly hazmat_tax_rate: number
  readonly part_discount_cents: number | null
  readonly labor_discount_cents: number | null
  readonly part_discount_percentage: number | null
  readonly labor_discount_percentage: number | null
  readonly supply_fee_cents: number | null
  readonly services: readonly {
    readonly labor_rate_cents: number | null
    readonly labors: readonly { readonly hours: number; readonly taxable: boolean }[]
    readonly parts: readonly {
      readonly quantity: number
      readonly quoted_price_cents: number | null
      readonly taxable: boolean
    }[]
    readonly sublets: readonly { readonly price_cents: number; readonly taxable: boolean }[]
    readonly hazmats: readonly {
      readonly quantity: number
      readonly fee_cents: number
      readonly taxable: boolean
    }[]
  }[]
}

interface Line {
  readonly cents: bigint
  readonly taxable: boolean
}

/** The lines of a kind: the sum of all, of the taxed ones, and the discount. */
interface Sum {
  readonly gross: bigint
  readonly taxable: bigint
  readonly discount: bigint
}

/** A discount is limited to its gross. */
function sum(lines: readonly Line[], cents: number | null = null, percentage: number | null = null): Sum {
  let gross = 0n
  let taxable = 0n
  for (const line of lines) {
    gross += line.cents
    if (line.taxable) taxable += line.cents
  }
  const asked = cents === null ? nearest(gross * billionths(percentage ?? 0), PERCENT) : BigInt(cents)
  const most = gross > 0n ? gross : 0n
  return { gross, taxable, discount: asked > most ? most : asked }
}

/** The tax of a kind: its taxed lines bear a proportional share of the discount. `more` is taxed without one. */
function tax({ gross, taxable, discount }: Sum, rate: number, more = 0n): bigint {
  const divisor = gross === 0n ? 1n : gross
  const base = (gross === 0n ? 0n : taxable * (gross - discount)) + more * divisor
  const sign = divisor < 0n ? -1n : 1n
  return nearest(sign * base * billionths(rate), sign * divisor * PERCENT)
}

/** The supply fee if the order has none. The API doesn't show the shop's settings: this rule is invented. */
export const settingsFee = (labor: number): number => Math.min(3500, Math.round(labor / 20))

const laborLines = ({ services }: Billed): Line[] =>
  services.flatMap(({ labors, labor_rate_cents: rate }) =>
    labors.map(({ hours, taxable }) => ({ cents: times(hours, rate), taxable })),
  )

const partLines = ({ services }: Billed): Line[] =>
  services.flatMap(({ parts }) =>
    parts.map(({ quantity, quoted_price_cents: price, taxable }) => ({
      cents: times(quantity, price),
      taxable,
    })),
  )

const subletLines = ({ services }: Billed): Line[] =>
  services.flatMap(({ sublets }) =>
    sublets.map(({ price_cents: price, taxable }) => ({ cents: BigInt(price), taxable })),
  )

const hazmatLines = ({ services }: Billed): Line[] =>
  services.flatMap(({ hazmats }) =>
    hazmats.map(({ quantity, fee_cents: fee, taxable }) => ({ cents: times(quantity, fee), taxable })),
  )

/** The gross of labor and parts, before discounts. */
export const laborGross = (order: Billed): number => Number(sum(laborLines(order)).gross)
export const partsGross = (order: Billed): number => Number(sum(partLines(order)).gross)

/** The total in cents; the payments of a paid order add up to it. */
export function billTotal(order: Billed): number {
  const labor = sum(laborLines(order), order.labor_discount_cents, order.labor_discount_percentage)
  const parts = sum(partLines(order), order.part_discount_cents, order.part_discount_percentage)
  const sublets = sum(subletLines(order))
  const hazmats = sum(hazmatLines(order))
  const fee = BigInt(order.supply_fee_cents ?? settingsFee(Number(labor.gross - labor.discount)))
  const net = [labor, parts, sublets, hazmats].reduce(
    (all, { gross, discount }) => all + gross - discount,
    fee,
  )
  if (!order.taxable) return Number(net)
  const taxes =
    tax(labor, order.labor_tax_rate) +
    tax(parts, order.part_tax_rate, fee) +
    tax(sublets, order.sublet_tax_rate) +
    tax(hazmats, order.hazmat_tax_rate)
  return Number(net + taxes)
}

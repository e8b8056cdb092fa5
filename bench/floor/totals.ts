/**
 * What an order comes to (docs/totals.md), by hand, for the bench's orders: their days are those of UTC, nothing is
 * absurd, and only a labor rate and a supply fee may be unknown. Doubles, and whole numbers only where a double may fall
 * on the other side of half a cent.
 */
import type { Row } from './rows.js'
import type { Order, Service } from './types.js'

const unit = 1_000_000_000
/** Far more than what doubles lose in an amount of money. */
const doubt = 1e-3

const nanos = (value: number): number => Math.round(value * unit)

function divided(product: number, divisor: number, exactly: () => readonly [bigint, bigint]): number {
  const near = product / divisor
  const below = Math.floor(near)
  if (Math.abs(near - below - 0.5) > doubt) return Math.round(near)
  const [numerator, denominator] = exactly()
  return Number((2n * numerator + denominator) / (2n * denominator))
}

const line = (quantity: number, cents: number): number =>
  divided(quantity * cents, unit, () => [BigInt(quantity) * BigInt(cents), BigInt(unit)])

function discount(given: number | null, percentage: number | null, gross: number): number {
  if (given !== null) return given
  if (percentage === null) return 0
  const rate = nanos(percentage)
  return divided(gross * rate, 100 * unit, () => [BigInt(gross) * BigInt(rate), 100n * BigInt(unit)])
}

/** `taxable` of `cents` less a discount, and a fee besides, at a rate in percent. */
function tax(taxable: number, cents: number, given: number, fee: number, percentage: number): number {
  const rate = nanos(percentage)
  const part = given === 0 || cents === 0 ? 1 : cents
  const base = part === 1 ? taxable + fee : taxable * (cents - given) + fee * cents
  return divided(base * rate, part * 100 * unit, () => {
    const exact =
      part === 1 ? BigInt(base) : BigInt(taxable) * BigInt(cents - given) + BigInt(fee) * BigInt(cents)
    return [exact * BigInt(rate), BigInt(part) * 100n * BigInt(unit)]
  })
}

const day = (text: string | null): string | null => (text === null ? null : text.slice(0, 10))

function minutes(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null
  return Math.floor((Date.parse(to) - Date.parse(from)) / 60_000)
}

/** Sums of an order, service by service. */
class Sums {
  hours = 0
  ratedHours = 0
  labor = 0
  laborTaxable = 0
  isLaborTaxUnknown = false
  parts = 0
  partsTaxable = 0
  partsCost = 0
  sublets = 0
  subletsTaxable = 0
  subletsCost = 0
  hazmats = 0
  hazmatsTaxable = 0
  unpriced = 0

  add({ labor_rate_cents: rate, labors, parts, sublets, hazmats }: Service): void {
    for (const { hours, taxable } of labors) {
      const sold = nanos(hours)
      this.hours += sold
      if (rate !== null) this.ratedHours += sold
      if (rate === null && sold !== 0) {
        this.unpriced++
        this.isLaborTaxUnknown ||= taxable
        continue
      }
      const cents = rate === null ? 0 : line(sold, rate)
      this.labor += cents
      if (taxable) this.laborTaxable += cents
    }
    for (const { quantity, quoted_price_cents, cost_cents, taxable } of parts) {
      const sold = nanos(quantity)
      const cents = line(sold, quoted_price_cents)
      this.parts += cents
      if (taxable) this.partsTaxable += cents
      this.partsCost += line(sold, cost_cents)
    }
    for (const { price_cents, cost_cents, taxable } of sublets) {
      this.sublets += price_cents
      if (taxable) this.subletsTaxable += price_cents
      this.subletsCost += cost_cents
    }
    for (const { quantity, fee_cents, taxable } of hazmats) {
      const cents = line(nanos(quantity), fee_cents)
      this.hazmats += cents
      if (taxable) this.hazmatsTaxable += cents
    }
  }
}

function taxesOf(o: Order, sums: Sums, laborDiscount: number, partsDiscount: number) {
  if (!o.taxable) return { labor: 0, parts: 0, sublets: 0, hazmats: 0 }
  const { labor, laborTaxable, parts, partsTaxable, sublets, subletsTaxable, hazmats, hazmatsTaxable } = sums
  const fee = o.supply_fee_cents
  return {
    labor: sums.isLaborTaxUnknown ? null : tax(laborTaxable, labor, laborDiscount, 0, o.labor_tax_rate),
    parts: fee === null ? null : tax(partsTaxable, parts, partsDiscount, fee, o.part_tax_rate),
    sublets: tax(subletsTaxable, sublets, 0, 0, o.sublet_tax_rate),
    hazmats: tax(hazmatsTaxable, hazmats, 0, 0, o.hazmat_tax_rate),
  }
}

export function totalsRow(tenant: number, o: Order): Row {
  const sums = new Sums()
  for (const service of o.services) sums.add(service)
  const laborDiscount = discount(o.labor_discount_cents, o.labor_discount_percentage, sums.labor)
  const partsDiscount = discount(o.part_discount_cents, o.part_discount_percentage, sums.parts)
  const { labor, parts, sublets, hazmats } = taxesOf(o, sums, laborDiscount, partsDiscount)
  const taxes = labor === null || parts === null ? null : labor + parts + sublets + hazmats
  const sales = sums.labor - laborDiscount + sums.parts - partsDiscount + sums.sublets + sums.hazmats
  const fee = o.supply_fee_cents
  const total = taxes === null || fee === null || sums.unpriced > 0 ? null : sales + fee + taxes
  let paid = 0
  for (const { amount_cents } of o.payments) paid += amount_cents
  return [
    o.id,
    `${tenant}-${String(o.id).trim()}`,
    o.number,
    o.shop_id,
    o.customer_id,
    o.vehicle_id,
    o.technician_id,
    o.advisor_id,
    o.state,
    o.status_id,
    o.customer_source,
    day(o.created_at),
    day(o.started_at),
    day(o.closed_at),
    day(o.picked_up_at),
    sums.hours / unit,
    sums.ratedHours / unit,
    sums.labor,
    laborDiscount,
    sums.parts,
    partsDiscount,
    sums.sublets,
    sums.hazmats,
    sales,
    fee,
    labor,
    parts,
    sublets,
    hazmats,
    taxes,
    total,
    sums.partsCost,
    sums.subletsCost,
    sums.unpriced > 0 ? null : sales - sums.partsCost - sums.subletsCost,
    paid,
    o.payments.length,
    total === null ? null : total - paid,
    minutes(o.created_at, o.started_at),
    minutes(o.started_at, o.closed_at),
    minutes(o.closed_at, o.picked_up_at),
    sums.unpriced,
    0,
    fee === null,
    (laborDiscount > 0 && laborDiscount > sums.labor) || (partsDiscount > 0 && partsDiscount > sums.parts),
    false,
    0,
    total === null,
  ]
}

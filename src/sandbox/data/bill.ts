import type { Order } from './order.js'

interface Kind {
  readonly total: number
  readonly taxable: number
}

interface Item {
  readonly amount: number
  readonly taxable: boolean
}

function kind(items: readonly Item[], discountCents: number | null, discountPercent: number | null): Kind {
  const gross = items.reduce((sum, item) => sum + item.amount, 0)
  const taxable = items.reduce((sum, item) => sum + (item.taxable ? item.amount : 0), 0)
  const discount = Math.min(gross, discountCents ?? Math.round((gross * (discountPercent ?? 0)) / 100))
  const rest = gross === 0 ? 0 : (gross - discount) / gross
  return { total: gross - discount, taxable: taxable * rest }
}

/** The supply fee where the order has none. The API does not show the shop's settings: this rule is invented. */
const settingsFee = (labor: number): number => Math.min(3500, Math.round(labor * 0.05))

/** The total in cents; the payments of a paid order add up to it. */
export function billTotal(order: Order): number {
  const labor = kind(laborItems(order), order.labor_discount_cents, order.labor_discount_percentage)
  const parts = kind(partItems(order), order.part_discount_cents, order.part_discount_percentage)
  const sublets = kind(subletItems(order), null, null)
  const hazmats = kind(hazmatItems(order), null, null)
  const fee = order.supply_fee_cents ?? settingsFee(labor.total)
  const net = labor.total + parts.total + sublets.total + hazmats.total + fee
  return net + tax(order, { labor, parts, sublets, hazmats, fee })
}

const laborItems = ({ services }: Order): Item[] =>
  services.flatMap(({ labors, labor_rate_cents: rate }) =>
    labors.map(({ hours, taxable }) => ({ amount: Math.round(hours * (rate ?? 0)), taxable })),
  )

const partItems = ({ services }: Order): Item[] =>
  services.flatMap(({ parts }) =>
    parts.map(({ quantity, quoted_price_cents: price, taxable }) => ({
      amount: Math.round(quantity * price),
      taxable,
    })),
  )

const subletItems = ({ services }: Order): Item[] =>
  services.flatMap(({ sublets }) => sublets.map(({ price_cents: amount, taxable }) => ({ amount, taxable })))

const hazmatItems = ({ services }: Order): Item[] =>
  services.flatMap(({ hazmats }) =>
    hazmats.map(({ quantity, fee_cents: fee, taxable }) => ({ amount: Math.round(quantity * fee), taxable })),
  )

interface Kinds {
  readonly labor: Kind
  readonly parts: Kind
  readonly sublets: Kind
  readonly hazmats: Kind
  readonly fee: number
}

function tax(order: Order, { labor, parts, sublets, hazmats, fee }: Kinds): number {
  if (!order.taxable) return 0
  const of = (base: number, rate: number): number => Math.round((base * rate) / 100)
  return (
    of(labor.taxable, order.labor_tax_rate) +
    of(parts.taxable + fee, order.part_tax_rate) +
    of(sublets.taxable, order.sublet_tax_rate) +
    of(hazmats.taxable, order.hazmat_tax_rate)
  )
}

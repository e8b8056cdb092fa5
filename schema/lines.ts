/**
 * SQL of the lines of services (labors, parts, sublets, hazmats), which several views share. Words in braces are tables,
 * as in every view (view.ts). An order's totals have the alias `o` throughout.
 */
import type { JoinedFigures, ViewWords } from './view.js'

/**
 * What units at a price or a cost come to. No units are worth nothing, whatever one of them is worth: below half a
 * billionth they are the noise of a binary float.
 */
export const worth = (q: ViewWords, units: string, cents: string): string =>
  `(case when abs(${units}) < 5e-10 then 0 else ${q.amount(units, cents)} end)`

/** How many rows of a group have a number that counts in no sum: none, or an absurd one. */
export const countUnknown = (q: ViewWords, number: string): string => `count(*) - count(${q.nine(number)})`

/** Cents that count: absurd ones do not, as in the totals. */
export const sane = (cents: string): string =>
  `(case when ${cents} > -9000000000 and ${cents} < 9000000000 then ${cents} end)`

/** Labors with the service that has their rate: that of their own order, since two orders may show one service. */
export const laborsOf = (l: string, s: string): string =>
  `{repair_order_labors} ${l} join {repair_order_services} ${s} on ${s}.tenant_id = ${l}.tenant_id and ${s}.repair_order_id = ${l}.repair_order_id and ${s}.id = ${l}.service_id`

/** Whether an item of the stock is below its minimum; null where one of the three numbers is unknown or absurd. */
export const isBelowMinimum = (q: ViewWords, item: string): string =>
  `${q.nine(`${item}.quantity_on_hand`)} + ${q.nine(`${item}.quantity_ordered_for_stock`)} < ${q.nine(`${item}.min_stock`)}`

/** The live order of a line or service. */
export const joinOrder = (l: string): string =>
  `join {repair_order_totals} o on o.tenant_id = ${l}.tenant_id and o.repair_order_id = ${l}.repair_order_id and o._deleted_at is null`

/*
 * A discount is shared out by running sums: to a line falls the share of all lines up to and with it, less that of the
 * lines before it. Shares that are rounded each for itself would not sum to the order's discount; these do, by
 * construction. Lines come by the ids of their services, then by their own.
 */

/** What lines of one order are added up by. With shop and day among it, conditions on them reach the index of orders. */
export const partition = 'o.tenant_id, o.shop_id, o.closed_on, o.repair_order_id'

/** The share of a line of `alias`: its columns are `discount`, the sum `up_to` the line, and that of the `whole` order. */
export function shareOf(q: ViewWords, alias: string, amount: string): string {
  const of = (sum: string): string => q.prorate(`${alias}.discount`, sum, `${alias}.whole`)
  return `${of(`${alias}.up_to`)} - ${of(`(${alias}.up_to - ${amount})`)}`
}

/** A kind of line that an order has a discount on. */
interface Discounted {
  readonly alias: string
  /** Its lines as `m`, and what each comes to. */
  readonly from: string
  readonly amount: string
  /** The order's discount on them, and their sum. */
  readonly discount: string
  readonly gross: string
}

/** The discount that falls to the lines of the service `s`. Few orders have one: the others are not asked for lines. */
function share(q: ViewWords, { alias, from, amount, discount, gross }: Discounted): JoinedFigures<'cents'> {
  const upTo = q.prorate(discount, `coalesce(sum(${amount}), 0)`, gross)
  const before = q.prorate(
    discount,
    `coalesce(sum(case when m.service_id < s.id then ${amount} end), 0)`,
    gross,
  )
  const isOne = `${discount} <> 0 and ${gross} <> 0`
  const rows = `from ${from} where m.tenant_id = s.tenant_id and m.repair_order_id = s.repair_order_id and m.service_id <= s.id and ${isOne}`
  const { figures, join } = q.figures(alias, rows, { cents: `${upTo} - ${before}` })
  return { figures: { cents: `(case when ${isOne} then ${figures.cents} else 0 end)` }, join }
}

export const serviceDiscount = {
  labor: (q: ViewWords): JoinedFigures<'cents'> =>
    share(q, {
      alias: 'labors_off',
      from: laborsOf('m', 'n'),
      amount: worth(q, 'm.hours', 'n.labor_rate_cents'),
      discount: 'o.labor_discount_cents',
      gross: 'o.labor_cents',
    }),
  part: (q: ViewWords): JoinedFigures<'cents'> =>
    share(q, {
      alias: 'parts_off',
      from: '{repair_order_parts} m',
      amount: worth(q, 'm.quantity', 'm.quoted_price_cents'),
      discount: 'o.parts_discount_cents',
      gross: 'o.parts_cents',
    }),
}

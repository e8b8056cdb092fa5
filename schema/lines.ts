/**
 * SQL shared by several views for the lines of services (labors, parts, sublets, hazmats). Words in braces are tables,
 * as in every view (view.ts). An order's totals always have the alias `o`. The value of an order's line is one of its
 * columns (derived/nets.ts).
 */
import { absurd } from './derived/billlines.js'
import type { ViewWords } from './view.js'

const isBelow = (cents: string, most: number): string => `${cents} > -${most} and ${cents} < ${most}`

/** Cents that count: absurd ones don't, as in the totals. */
export const sane = (cents: string, most: number = absurd.cents): string =>
  `(case when ${isBelow(cents, most)} then ${cents} end)`

/** Whether the price or cost of one unit is known and counts. */
export const isPrice = (cents: string): string => isBelow(cents, absurd.price)

export const sanePrice = (cents: string): string => sane(cents, absurd.price)

/**
 * The value of some units at a price or cost. Zero units are worth nothing, whatever one of them is worth: below half a
 * billionth they are floating-point noise.
 */
export const worth = (q: ViewWords, units: string, cents: string, most: number = absurd.units): string =>
  `(case when abs(${units}) < 5e-10 then 0 when ${isPrice(cents)} then ${q.amount(units, cents, most)} end)`

/** How many rows of a group have a number that no sum includes: missing or absurd. */
export const countUnknown = (q: ViewWords, number: string, most: number): string =>
  `count(*) - count(${q.nine(number, most)})`

/**
 * Labors with the service that has their rate: the one of their own order, since two orders may show the same service.
 */
export const laborsOf = (l: string, s: string): string =>
  `{repair_order_labors} ${l} join {repair_order_services} ${s} on ${s}.tenant_id = ${l}.tenant_id and ${s}.repair_order_id = ${l}.repair_order_id and ${s}.id = ${l}.service_id`

/** By how many units (in billionths) a stock item is below its minimum; null if one of the three is unknown or absurd. */
function nineBelowMinimum(q: ViewWords, item: string): string {
  const nine = (name: string): string => q.nine(`${item}.${name}`, absurd.units)
  return `${nine('min_stock')} - ${nine('quantity_on_hand')} - ${nine('quantity_ordered_for_stock')}`
}

export const isBelowMinimum = (q: ViewWords, item: string): string => `${nineBelowMinimum(q, item)} > 0`

export function unitsBelowMinimum(q: ViewWords, item: string): string {
  const missing = nineBelowMinimum(q, item)
  return q.fromNine(`(case when ${missing} < 0 then 0 else ${missing} end)`)
}

/** The live order of a line or service. */
export const joinOrder = (l: string): string =>
  `join {repair_order_totals} o on o.tenant_id = ${l}.tenant_id and o.repair_order_id = ${l}.repair_order_id and o._deleted_at is null`

/**
 * The order of a payment `p`: as `o` if it exists at the source, and as `any_` even if it was deleted, since the shop where
 * the money was taken still decides the day.
 */
export const joinOrderIfAny = `left ${joinOrder('p')}
      left join {repair_order_totals} any_ on any_.tenant_id = p.tenant_id and any_.repair_order_id = p.repair_order_id`

/** A blank word counts as missing. */
export const named = (text: string): string => `coalesce(nullif(trim(${text}), ''), '(none)')`

/** The sum of one kind of lines; null if one of them has no price. */
const sumOfLines = (from: string, amount: string): string =>
  `(select case when count(*) = count(a.cents) then coalesce(sum(a.cents), 0) end
        from (select ${amount} as cents from ${from} where l.tenant_id = r.tenant_id and l.recommendation_id = r.id) a)`

/** What a recommendation `r` would bring: its quick price, else its lines; null if neither is there. */
export function worthOfRecommendation(q: ViewWords): string {
  const labors =
    '{recommendation_labors} l join {recommendation_services} s on s.tenant_id = l.tenant_id and s.recommendation_id = l.recommendation_id and s.id = l.service_id'
  const sums = [
    sumOfLines(labors, worth(q, 'l.hours', 's.labor_rate_cents', absurd.hours)),
    sumOfLines('{recommendation_parts} l', worth(q, 'l.quantity', 'l.quoted_price_cents')),
    sumOfLines('{recommendation_sublets} l', sane('l.price_cents')),
    sumOfLines('{recommendation_hazmats} l', worth(q, 'l.quantity', 'l.fee_cents')),
  ]
  const services =
    'select 1 from {recommendation_services} s where s.tenant_id = r.tenant_id and s.recommendation_id = r.id'
  return `case when r.quick_price_cents is not null then ${sane('r.quick_price_cents')} when exists (${services}) then ${sums.join(' + ')} end`
}

/** Whether a recommendation `r` names an order that is deleted or unknown: then `o`, left joined, has no row. */
export const isOrderGone = '(r.repair_order_id is not null and o.repair_order_id is null)'

/** The category of a recommendation `r`; null for a quick one. */
export const categoryOfRecommendation = `(select s.category_id from {recommendation_services} s
        where s.tenant_id = r.tenant_id and s.recommendation_id = r.id order by s.position limit 1)`

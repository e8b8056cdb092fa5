/**
 * SQL of the lines of services (labors, parts, sublets, hazmats), which several views share. Words in braces are tables,
 * as in every view (view.ts). An order's totals have the alias `o` throughout. What a line of an order comes to is a
 * column of it (derived/nets.ts).
 */
import type { ViewWords } from './view.js'

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

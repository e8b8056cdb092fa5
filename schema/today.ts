/**
 * Today's day of each shop, by its number: ages are differences of such numbers. Views that need it name it once, so
 * that the calendar is asked once a shop and not once a row.
 */
import type { ViewWords } from './view.js'

/** A common table expression: the tenant 0 stands for wherever no zone of a shop is known. */
export const todays = (q: ViewWords): string =>
  `todays as materialized (select z.tenant_id, z.shop_id, ${q.dayNumber(q.day('z.zone', q.now))} as number from {report_zones} z)`

/** Joins the day of a shop as `w`. */
export const joinToday = (tenant: string, shop: string): string =>
  `left join todays w on w.tenant_id = ${tenant} and w.shop_id = ${shop}`

export const today =
  'coalesce(w.number, (select w0.number from todays w0 where w0.tenant_id = 0 and w0.shop_id = 0))'

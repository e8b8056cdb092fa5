/**
 * Today's day number for each shop: ages are differences of such numbers. A view that needs it refers to it once, so
 * that the calendar is queried once per shop instead of once per row.
 */
import type { ViewWords } from './view.js'

/** The number of today in a zone. The calendar has it: computed from the day, it would be so once for each row. */
export const todayIn = (q: ViewWords, zone: string): string =>
  `(select b.day_number from {report_calendar} b where b.day = ${q.day(zone, q.now)})`

/** A common table expression: tenant 0 stands for every place where a shop's zone is unknown. */
export const todays = (q: ViewWords): string =>
  `todays as (select z.tenant_id, z.shop_id, ${todayIn(q, 'z.zone')} as number from {report_zones} z)`

/** Joins the day of a shop as `w`. */
export const joinToday = (tenant: string, shop: string): string =>
  `left join todays w on w.tenant_id = ${tenant} and w.shop_id = ${shop}`

export const today =
  'coalesce(w.number, (select w0.number from todays w0 where w0.tenant_id = 0 and w0.shop_id = 0))'

/** When things happened to an order, on the shop's own days and clocks, and how long they took. */
import type { RuleSettings, ShopTime, Stored, StoredRow } from '../derive.js'

export function orderDays(order: StoredRow, { shopTime, minutesBetween }: RuleSettings) {
  const shown = (instant: Stored | undefined): ShopTime | null =>
    typeof instant === 'string' ? shopTime(order.shop_id ?? null, instant) : null
  const between = (from: Stored | undefined, to: Stored | undefined): number | null =>
    typeof from === 'string' && typeof to === 'string' ? minutesBetween(from, to) : null
  const { created_at: created, started_at: started, closed_at: closed, picked_up_at: gone } = order
  const [creation, start, close, pickUp] = [shown(created), shown(started), shown(closed), shown(gone)]
  const [dueIn, dueOut] = [shown(order.due_in_at), shown(order.due_out_at)]
  return {
    created_on: creation?.day ?? null,
    started_on: start?.day ?? null,
    closed_on: close?.day ?? null,
    picked_up_on: pickUp?.day ?? null,
    minutes_to_start: between(created, started),
    minutes_in_work: between(started, closed),
    minutes_to_pick_up: between(closed, gone),
    minutes_to_close: between(created, closed),
    created_at_local: creation?.local ?? null,
    closed_at_local: close?.local ?? null,
    started_at_local: start?.local ?? null,
    picked_up_at_local: pickUp?.local ?? null,
    due_in_on: dueIn?.day ?? null,
    due_in_at_local: dueIn?.local ?? null,
    due_out_on: dueOut?.day ?? null,
    due_out_at_local: dueOut?.local ?? null,
    updated_at_local: shown(order.updated_at)?.local ?? null,
  }
}

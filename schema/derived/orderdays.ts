/** When things happened to an order, on the shop's own days and clocks, and how long they took. */
import type { RuleSettings, Stored, StoredRow } from '../derive.js'

export function orderDays(order: StoredRow, { dayOf, localOf, minutesBetween }: RuleSettings) {
  const on = (instant: Stored | undefined): string | null =>
    typeof instant === 'string' ? dayOf(order.shop_id ?? null, instant) : null
  const local = (instant: Stored | undefined): string | null =>
    typeof instant === 'string' ? localOf(order.shop_id ?? null, instant) : null
  const between = (from: Stored | undefined, to: Stored | undefined): number | null =>
    typeof from === 'string' && typeof to === 'string' ? minutesBetween(from, to) : null
  const { created_at: created, started_at: started, closed_at: closed, picked_up_at: gone } = order
  const { due_in_at: dueIn, due_out_at: dueOut } = order
  return {
    created_on: on(created),
    started_on: on(started),
    closed_on: on(closed),
    picked_up_on: on(gone),
    minutes_to_start: between(created, started),
    minutes_in_work: between(started, closed),
    minutes_to_pick_up: between(closed, gone),
    minutes_to_close: between(created, closed),
    created_at_local: local(created),
    closed_at_local: local(closed),
    started_at_local: local(started),
    picked_up_at_local: local(gone),
    due_in_on: on(dueIn),
    due_in_at_local: local(dueIn),
    due_out_on: on(dueOut),
    due_out_at_local: local(dueOut),
    updated_at_local: local(order.updated_at),
  }
}

/**
 * The steps of a repair order: started, completed, closed, picked up, paid. Used by generate.ts, work.ts and money.ts.
 */
import { billTotal } from './bill.js'
import type { Order, Service } from './order.js'
import { HOUR, type Moment, momentOf, print, type World } from './world.js'

/* The steps of a repair order: estimate, started, closed, picked up. Each changes the order; the caller stores it. */

export function start(world: World, order: Order, at: Moment): void {
  order.state = 'in_progress'
  order.started_at = print(at)
  for (const service of order.services) inspect(world, service, at)
  touch(order, at)
}

function inspect({ random }: World, service: Service, at: Moment): void {
  for (const inspection of service.inspections) {
    inspection.state =
      ['green', 'yellow', 'red', 'unchecked'][random.weighted([0.72, 0.16, 0.07, 0.05])] ?? 'green'
    if (inspection.state === 'red') inspection.detail = 'Needs attention soon'
    inspection.updated_at = print(at)
  }
}

/** `last` is later than `at` where the service was started again and completed once more. */
export function complete(service: Service, at: Moment, last: Moment = at): void {
  Object.assign(service, {
    completed: true,
    completed_at: print(at),
    last_completed_at: print(last),
    updated_at: print(last),
  })
}

export function close(world: World, order: Order, at: Moment): void {
  const undone = order.services.filter(({ completed }) => !completed)
  for (const [index, service] of undone.entries()) {
    const from = Math.max(momentOf(order.started_at ?? order.created_at), momentOf(service.created_at))
    const done = Math.min(at, from + Math.floor(((at - from) * (index + 1)) / (undone.length + 1)))
    complete(service, done, world.random.chance(0.03) ? Math.floor((done + at) / 2) : done)
  }
  order.state = 'invoice'
  order.closed_at = print(at)
  order.odometer_out = order.odometer === null ? null : order.odometer + world.random.integer(0, 15)
  touch(order, at)
}

export function pickUp(order: Order, at: Moment): void {
  order.picked_up_at = print(at)
  touch(order, at)
}

function touch(order: Order, at: Moment): void {
  order.updated_at = print(at)
}

const hoursOf = (order: Order): number =>
  order.services.reduce((sum, { labors }) => sum + labors.reduce((part, { hours }) => part + hours, 0), 0)

/** The time of the car in the shop: labor and waiting. */
export function timeInShop({ random }: World, order: Order): Moment {
  const waiting = random.chance(0.7) ? random.next() * 3 : random.next() * 40
  return Math.floor((Math.max(0.5, hoursOf(order) * 1.15) + waiting) * HOUR)
}

export interface Payment {
  readonly type: string
  readonly name: string | null
  readonly amount: number
}

/** One payment or, seldom, two that add up to the invoice; a few invoices stay unpaid. */
export function payments({ random }: World, order: Order): Payment[] {
  const total = billTotal(order)
  if (total <= 0 || random.chance(0.02)) return []
  const first = random.chance(0.06) ? Math.floor(total * (0.2 + random.next() * 0.5)) : total
  return [first, total - first]
    .filter((amount) => amount > 0)
    .map((amount) => {
      const kind = random.weighted([0.68, 0.1, 0.14, 0.08])
      if (kind === 0) return { type: 'Credit Card', name: random.chance(0.3) ? 'Visa' : null, amount }
      if (kind === 3) return { type: 'Other', name: random.pick(['Fleet', 'Warranty']), amount }
      return { type: kind === 1 ? 'Cash' : 'Check', name: null, amount }
    })
}

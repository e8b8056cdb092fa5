/**
 * The steps of a repair order: started, completed, closed, picked up. Used by generate.ts and work.ts.
 */
import type { Service } from './lines.js'
import { HOUR, MINUTE, type Moment, momentOf, print } from './moment.js'
import type { Order } from './order.js'
import type { ShopFacts, World } from './world.js'

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
      ['green', 'yellow', 'red', 'unchecked'][random.weighted([0.71, 0.16, 0.08, 0.05])] ?? 'green'
    if (inspection.state === 'red') inspection.detail = 'Needs attention soon'
    inspection.updated_at = print(at)
  }
}

/** `last` is later than `at` if the service was started again and completed again. */
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

export interface Duration {
  readonly done: Moment
  /** When it would have been done if all parts had been there; otherwise the same. */
  readonly undisturbed: Moment
}

/** How long the work takes: labor, waiting for a lift, and occasionally days of waiting for parts. */
export function duration({ random }: World, shop: ShopFacts, order: Order, started: Moment): Duration {
  const work = Math.max(0.4, hoursOf(order) * 1.1) + random.next() * 2
  const undisturbed = shop.hours.after(started, Math.floor(work * HOUR))
  if (!random.chance(0.12)) return { done: undisturbed, undisturbed }
  const parts = -Math.log(1 - random.next()) * 14
  return { done: shop.hours.after(undisturbed, Math.floor(parts * HOUR)), undisturbed }
}

/**
 * What the customer was promised, rounded to the quarter hour. One car in seven is done later, mostly for lack of
 * parts.
 */
export function promise(
  { random }: World,
  shop: ShopFacts,
  order: Order,
  { done, undisturbed }: Duration,
): void {
  const isDelayed = undisturbed < done
  const isLate = random.chance(isDelayed ? 0.5 : 0.1)
  const slack = Math.floor((0.3 + random.next() * 4) * HOUR)
  const due = isDelayed ? undisturbed : done - slack
  const rounded = (at: Moment): Moment => at - (at % (15 * MINUTE))
  const soonest = momentOf(order.created_at) + 30 * MINUTE
  order.due_out_at = print(
    isLate ? rounded(Math.max(soonest, due)) : rounded(shop.hours.after(done, slack)) + 15 * MINUTE,
  )
}

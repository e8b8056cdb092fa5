/**
 * Generates a tenant's past: two years of shops, customers, repair orders. Used by sandbox.ts.
 */
import type { Micros } from '../instant.js'
import { Random } from '../random.js'
import type { Store } from '../records/store.js'
import { advise, remember } from './advice.js'
import { arrivals, arrivalTime } from './calendar.js'
import { fillDeclared } from './declared.js'
import { close, pickUp, start, timeInShop } from './lifecycle.js'
import { pay } from './money.js'
import { appoint, assign, note, purchase, tag } from './office.js'
import type { Order } from './order.js'
import { openOrder } from './order.js'
import { customerFor, emitCustomer } from './people.js'
import { furnish } from './settings.js'
import { DAY, HOUR, MINUTE, type Moment, momentOf, SECOND, type ShopFacts, World } from './world.js'

export interface GenerateOptions {
  readonly tenant: number
  readonly repairOrders: number
  readonly shops: number | undefined
  readonly seed: number
  /** No record is newer. */
  readonly until: Micros
}

const DAYS = 730

const shopCount = (orders: number): number =>
  orders <= 500 ? 2 : orders <= 1500 ? 3 : orders <= 20_000 ? 4 : 8

/** Two years of one business. The same options give the same records, byte for byte. */
export function generateTenant(store: Store, options: GenerateOptions): World {
  const random = new Random(options.seed * 7919 + options.tenant)
  const world = new World(store, options.tenant, random)
  const until = Number(options.until)
  furnish(world, options.shops ?? shopCount(options.repairOrders), until - DAYS * DAY, until)
  for (const { shop, at } of visits(world, options.repairOrders, until)) live(world, shop, at, until)
  for (const customer of world.customers) emitCustomer(world, customer, until)
  plan(world, until)
  world.flush()
  fillDeclared(world, options.repairOrders, options.seed, until)
  world.flush()
  return world
}

interface Visit {
  readonly shop: ShopFacts
  readonly at: Moment
}

/** In the order of time: no customer comes back before the first visit. */
function visits(world: World, count: number, until: Moment): Visit[] {
  const { random, shops } = world
  const weights = shops.map(({ weight }) => weight)
  const found = arrivals(random, count, until, DAYS).flatMap((day): Visit[] => {
    const shop = shops[random.weighted(weights)]
    if (shop === undefined) return []
    const at = arrivalTime(random, day, shop.city.zone)
    return [{ shop, at: at < until ? at : until - MINUTE - random.integer(0, DAY) }]
  })
  return found.sort((a, b) => a.at - b.at)
}

/** The life of one repair order up to `until`. */
function live(world: World, shop: ShopFacts, at: Moment, until: Moment): void {
  const { random } = world
  const order = openOrder(world, shop, customerFor(world, at), at)
  if (random.chance(0.4))
    appoint(world, shop, order, Math.min(at + MINUTE, until), at + random.integer(0, 2) * HOUR)
  const started = at + (random.chance(0.8) ? random.integer(5, 180) * MINUTE : random.integer(16, 60) * HOUR)
  const declined = random.chance(0.06)
  const end = declined || started > until ? at : work(world, shop, order, started, until)
  if (order.state !== 'invoice' && !declined) world.open.add(order.id)
  if (random.chance(0.03)) order.integrator_tags.push(tag(world, 'RepairOrder', order.id, end))
  const edited = random.chance(0.04) ? end + random.integer(1, 20 * 24) * HOUR : end
  if (random.chance(0.5)) note(world, order, at + Math.floor((end - at) * random.next()))
  if (random.chance(0.3)) purchase(world, shop, Math.max(at - 4 * DAY, until - DAYS * DAY))
  world.emit('repair_orders', order, edited < until ? edited : end)
}

function work(world: World, shop: ShopFacts, order: Order, started: Moment, until: Moment): Moment {
  const { random } = world
  start(world, order, started)
  const found = started + random.integer(10, 60) * MINUTE
  const advice = found + HOUR < until ? advise(world, shop, order, found, true) : []
  if (random.chance(0.08)) assign(world, shop, order, Math.min(started, until - HOUR))
  const closed = Math.max(started + timeInShop(world, order), found + HOUR)
  const isWaiting = until - closed < 10 * DAY && random.chance(0.5)
  const end =
    closed < until && !isWaiting
      ? settle(world, order, closed, until)
      : Math.max(started, Math.min(until, found + HOUR))
  for (const [index, recommendation] of advice.entries()) {
    world.emit('recommendations', recommendation, momentOf(recommendation.updated_at))
    if (order.state === 'invoice') remember(world, order, recommendation, closed - index * SECOND, until)
  }
  return end
}

/** Closes the order and, as far as time allows, lets it be paid and picked up. Returns the last moment. */
function settle(world: World, order: Order, closed: Moment, until: Moment): Moment {
  const { random } = world
  close(world, order, closed)
  const paid = closed + random.integer(5, 90) * MINUTE
  if (paid > until) return closed
  pay(world, order, paid)
  const picked = paid + random.integer(1, 40) * MINUTE
  if (picked > until || random.chance(0.03)) return paid
  pickUp(order, picked)
  return picked
}

/** Appointments of the coming days, without orders. */
function plan(world: World, until: Moment): void {
  for (const shop of world.shops)
    for (let i = 0; i < 4; i += 1) {
      const made = until - world.random.integer(1, 72) * HOUR
      appoint(world, shop, null, made, until + world.random.integer(1, 9) * DAY)
    }
}

/**
 * Generates a tenant's past: two years of shops, customers, repair orders. Used by sandbox.ts.
 */
import type { Micros } from '../instant.js'
import { Random } from '../random.js'
import type { Store } from '../records/store.js'
import { advise, remember } from './advice.js'
import { type Arrival, arrivals } from './calendar.js'
import { fillDeclared } from './declared.js'
import { close, duration, pickUp, promise, start } from './lifecycle.js'
import { DAY, HOUR, MINUTE, type Moment, momentOf, print, SECOND } from './moment.js'
import { deposit, paidAt, pay, refund } from './money.js'
import { appoint, assign, note, purchase, tag } from './office.js'
import { type Order, openOrder } from './order.js'
import { customerFor, emitCustomer } from './people.js'
import { furnish } from './settings.js'
import { shopCount, staff } from './staffing.js'
import { type CustomerFacts, type ShopFacts, World } from './world.js'

interface GenerateOptions {
  readonly tenant: number
  readonly repairOrders: number
  readonly shops: number | undefined
  readonly technicians: number | undefined
  readonly seed: number
  /** No record is newer. */
  readonly until: Micros
  /** Keeps the records compressed, which takes a quarter of the memory and a little longer. */
  readonly packs?: boolean
}

/** The past of one business, at most two years. The same options produce the same records, byte for byte. */
export function generateTenant(store: Store, options: GenerateOptions): World {
  const { repairOrders, technicians } = options
  const random = new Random(options.seed * 7919 + options.tenant)
  const until = Number(options.until)
  const { days, hiredOn } = staff(repairOrders, options.shops ?? shopCount(repairOrders), technicians)
  const world = new World(store, options.tenant, random, until - days * DAY, options.packs)
  furnish(world, hiredOn, world.start, until)
  for (const arrival of arrivals(random, world.shops, repairOrders, until)) visit(world, arrival, until)
  for (const customer of world.customers) emitCustomer(world, customer, until)
  plan(world, until)
  world.flush()
  fillDeclared(world, repairOrders, options.seed, until)
  world.flush()
  return world
}

/** The life of one repair order up to `until`. */
function visit(world: World, { shop, technician, at }: Arrival, until: Moment): void {
  const { random } = world
  const customer = customerFor(world, shop, at)
  const order = openOrder(world, shop, customer, at, technician)
  book(world, shop, order, at)
  // One customer in eight thinks it over for weeks: the estimate stays open until then.
  const started = random.chance(0.12)
    ? shop.hours.opened(at + Math.floor((0.5 - Math.log(1 - random.next()) * 20) * DAY))
    : shop.hours.after(at, random.integer(5 * 60, 75 * 60) * SECOND)
  if (started > until) promise(world, shop, order, duration(world, shop, order, started))
  const end = started > until ? at : work(world, { shop, customer, order, started }, until)
  if (order.state !== 'invoice') world.open.add(order.id)
  if (random.chance(0.03)) order.integrator_tags.push(tag(world, 'RepairOrder', order.id, end))
  const edited = random.chance(0.04) ? end + random.integer(1, 20 * 24) * HOUR : end
  if (random.chance(0.5)) note(world, order, at + Math.floor((end - at) * random.next()))
  if (order.state !== 'estimate' && random.chance(0.22))
    purchase(world, shop, Math.min(started, until - random.integer(MINUTE, HOUR)), until)
  world.emit('repair_orders', order, edited < until ? edited : end)
}

/** Half of the cars come by appointment, made days before. A few with an appointment never come. */
function book(world: World, shop: ShopFacts, order: Order, at: Moment): void {
  const { random } = world
  if (!random.chance(0.55)) return
  const days = 1 + random.next() * random.next() * 14
  const made = shop.hours.opened(at - Math.floor(days * DAY))
  const startAt = at - (at % (15 * MINUTE))
  order.due_in_at = print(startAt)
  appoint(world, shop, order, Math.min(made, at), startAt, at)
  if (random.chance(0.08)) appoint(world, shop, null, Math.min(made + MINUTE, at), startAt)
}

interface Job {
  readonly shop: ShopFacts
  readonly customer: CustomerFacts
  readonly order: Order
  readonly started: Moment
}

/** Returns when the order last changed. */
function work(world: World, job: Job, until: Moment): Moment {
  const { random } = world
  const { shop, customer, order, started } = job
  start(world, order, started)
  const found = started + random.integer(10, 60) * MINUTE
  const advice = found + HOUR < until ? advise(world, shop, order, found, true) : []
  if (random.chance(0.08)) assign(world, shop, order, Math.min(started, until - HOUR))
  useParts(shop, order)
  const { done, undisturbed } = duration(world, shop, order, started)
  const closed = shop.hours.opened(Math.max(done, found + HOUR))
  promise(world, shop, order, { done: closed, undisturbed: undisturbed < done ? undisturbed : closed })
  if (!customer.onAccount && started + 5 * MINUTE < until) deposit(world, order, started + 4 * MINUTE)
  const end =
    closed <= until ? settle(world, job, closed, until) : Math.max(started, Math.min(until, found + HOUR))
  for (const [index, recommendation] of advice.entries()) {
    world.emit('recommendations', recommendation, momentOf(recommendation.updated_at))
    if (order.state === 'invoice') remember(world, order, recommendation, closed - index * SECOND, until)
  }
  return end
}

/** Closes the order and, if there is time, has it paid and picked up. Returns when that ended. */
function settle(world: World, { shop, customer, order }: Job, closed: Moment, until: Moment): Moment {
  const { random } = world
  close(world, order, closed)
  // A customer who paid a deposit pays the rest right away: an invoice is either paid in full or not at all.
  const isBegun = order.payments.length > 0
  const paid = isBegun ? Math.min(until, closed + 2 * MINUTE) : paidAt(world, shop, customer, closed)
  const end = paid > until ? closed : refund(world, shop, order, pay(world, order, paid), until)
  const asked = random.chance(0.8) ? random.integer(3, 40) * MINUTE : random.integer(60, 480) * MINUTE
  const picked = shop.hours.after(closed + 16 * MINUTE, asked)
  if (picked > until || random.chance(0.01)) return end
  pickUp(order, picked)
  return Math.max(end, picked)
}

/** What the order takes from the shelf, to be bought again. Deposits on old parts aren't goods. */
function useParts({ stockById, supply }: ShopFacts, { services }: Order): void {
  for (const { parts } of services)
    for (const part of parts) {
      const item = stockById.get(part.part_inventory_id)
      if (item !== undefined) supply.use(item, part.quantity)
    }
}

/** Appointments in the coming days, without orders: tomorrow is nearly full, next week isn't. */
function plan(world: World, until: Moment): void {
  const { random } = world
  for (const shop of world.shops) {
    const days = shop.hours.days.filter(({ opens, isSaturday }) => opens > until && !isSaturday).slice(0, 8)
    for (const [index, { opens }] of days.entries()) {
      const booked = Math.max(1, Math.round(shop.technicians.length * 2 * Math.exp(-index / 3)))
      for (let n = 0; n < booked; n += 1)
        appoint(
          world,
          shop,
          null,
          until - random.integer(HOUR, 96 * HOUR),
          opens + random.integer(0, 32) * 15 * MINUTE,
        )
    }
  }
}

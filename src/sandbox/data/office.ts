/**
 * Makes notes, appointments, assignments, purchase records and tags. Used by generate.ts, people.ts and work.ts.
 */

import { DAY, HOUR, MINUTE, type Moment, print } from './moment.js'
import type { Order } from './order.js'
import { DETAILS, NOTES } from './vocabulary.js'
import type { ShopFacts, Stock, World } from './world.js'

/* Makers of notes, appointments, assignments, purchase records and tags. */

export function note(world: World, order: Order, at: Moment): void {
  const record = {
    ...world.stamps('notes', at),
    description: world.random.pick(NOTES),
    repair_order_id: order.id,
  }
  world.emit('notes', record, at)
}

/**
 * An appointment made at `at`. Without an order it only has a title; with an order it changes when the car comes in.
 */
export function appoint(
  world: World,
  shop: ShopFacts,
  order: Order | null,
  at: Moment,
  startAt: Moment,
  cameIn: Moment = at,
): void {
  const { random } = world
  const record = {
    ...world.stamps('appointments', at),
    staff_id: random.chance(0.3) ? null : (order?.technician_id ?? random.pick(shop.technicians)),
    title: order?.services[0]?.title ?? random.pick(DETAILS),
    description: random.chance(0.4) ? random.pick(NOTES) : null,
    start_at: print(startAt),
    end_at: print(startAt + random.integer(1, 4) * HOUR),
    repair_order_id: order?.id ?? null,
    shop_id: shop.id,
    integrator_tags: [],
  }
  world.emit('appointments', record, cameIn)
}

export function assign(world: World, shop: ShopFacts, order: Order, at: Moment): void {
  const { random } = world
  // In working shops, the answer comes later, as a change to the record.
  const isAnswered = random.chance(0.8)
  const accepted = isAnswered && !world.live
  const decided = at + random.integer(1, 45) * MINUTE
  const record = {
    ...world.stamps('assignments', at),
    repair_order_id: order.id,
    transfer_to_id: random.pick(shop.technicians),
    transfer_from_id: order.technician_id,
    message: random.pick([
      'Can you take this one?',
      'I am off tomorrow',
      'Needs the alignment rack',
      'Please finish – customer waits',
    ]),
    accepted_at: accepted ? print(decided) : null,
    cancelled_at: !isAnswered && random.chance(0.5) && !world.live ? print(decided) : null,
    integrator_tags: [],
  }
  world.emit('assignments', record, accepted || record.cancelled_at !== null ? decided : at)
}

type Bought = readonly { readonly item: Stock; readonly quantity: number }[]

/** Buys again what was used. Working shops always buy something. */
export function purchase(world: World, shop: ShopFacts, at: Moment, until: Moment = at): void {
  const { random } = world
  const used = shop.supply.buy(15)
  const bought = used.length > 0 || !world.live ? used : someStock(world, shop)
  if (bought.length === 0) return
  const settled = at + (random.chance(0.3) && !world.live ? random.integer(1, 3) * DAY : 0)
  recordPurchase(world, shop, bought, [at, settled > until ? at : settled])
  const sentBack = at + random.integer(1, 5) * DAY
  if (world.live || sentBack > until || !random.chance(0.08)) return
  const { item, quantity } = random.pick(bought)
  const back = random.integer(1, quantity)
  shop.supply.use(item, back)
  recordPurchase(world, shop, [{ item, quantity: back }], [sentBack, sentBack], true)
}

const someStock = ({ random }: World, shop: ShopFacts): Bought =>
  random
    .sample([...shop.stock.values()].flat(), random.integer(1, 5))
    .map((item) => ({ item, quantity: random.integer(1, 12) }))

function recordPurchase(
  world: World,
  shop: ShopFacts,
  bought: Bought,
  [at, settled]: readonly [Moment, Moment],
  isReturn = false,
): void {
  const { random } = world
  const ecomm = random.chance(0.6)
  const record = {
    ...world.stamps('purchase_records', at),
    shop_id: shop.id,
    invoice_number: `INV-${random.digits(6)}`,
    vendor_id: random.pick(world.vendorsOf(shop.id)),
    payment_type: random.pick(['On account', 'On account', 'Company card', 'Cash']),
    ecomm_integrator_order_id: ecomm ? `EC${random.digits(9)}` : '',
    is_return: isReturn,
    line_items: bought.map(({ item, quantity }) => ({
      inventory_id: item.id,
      quantity,
      list_price_cents: item.price,
      cost_cents: item.cost,
      ecomm_integrator_part_id: ecomm ? `ECP${random.digits(7)}` : '',
    })),
    integrator_tags: [],
  }
  world.emit('purchase_records', record, settled)
}

/** Writes a tag and returns it: the caller also puts it into the tagged record. */
export function tag(world: World, type: string, id: number, at: Moment): unknown {
  const { random } = world
  const name = random.pick(['crm_id', 'accounting_ref', 'fleet_no'])
  const record = {
    ...world.stamps('integrator_tags', at),
    taggable_type: type,
    taggable_id: id,
    name,
    value: `${name.slice(0, 3).toUpperCase()}-${random.digits(6)}`,
  }
  world.emit('integrator_tags', record, at)
  return { ...record }
}

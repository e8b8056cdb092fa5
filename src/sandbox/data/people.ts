/**
 * Makes customers and their vehicles. Used by generate.ts, work.ts and paperwork.ts.
 */

import { DAY, dateOf, MINUTE, type Moment, print, SECOND } from './moment.js'
import { tag } from './office.js'
import { ascii } from './settings.js'
import { COLORS, FIRST_NAMES, LAST_NAMES, MODELS, STREETS } from './vocabulary.js'
import type { CustomerFacts, ShopFacts, VehicleFacts, World } from './world.js'

/** A customer with a car, a few minutes before the first visit. The record is written after the last visit. */
export function newCustomer(world: World, at: Moment): CustomerFacts {
  const { random } = world
  const isOld = knownBefore(world, at)
  const onAccount = random.chance(0.055)
  const since = isOld
    ? world.start - random.integer(1, 20 * 24 * 60) * MINUTE
    : at - random.integer(2, 20) * MINUTE
  const customer: CustomerFacts = {
    id: world.id('customers'),
    first: random.pick(FIRST_NAMES),
    last: random.pick(LAST_NAMES),
    shopIds: new Set(),
    vehicles: [],
    onAccount,
    since,
    visits: isOld ? 1 : 0,
    seen: since,
    gone: false,
  }
  const cars = onAccount ? random.integer(3, 8) : random.chance(0.25) ? 2 : 1
  for (let i = 0; i < cars; i += 1) customer.vehicles.push(newVehicle(world))
  world.customers.push(customer)
  return customer
}

/**
 * Customers from the years before the first order: they were imported from the shop's previous program within a few
 * days.
 */
const knownBefore = ({ random, start, live }: World, at: Moment): boolean =>
  !live && random.chance(0.75 * Math.exp(-(at - start) / (240 * DAY)))

const newVehicle = (world: World): VehicleFacts => ({
  id: world.id('vehicles'),
  model: world.random.pick(MODELS),
  odometer: world.random.integer(8, 160) * 1000 + world.random.integer(0, 999),
})

/** A new customer or a known one: of this shop if possible, and not one from last week, unless it is a fleet. */
export function customerFor(world: World, shop: ShopFacts, at: Moment): CustomerFacts {
  const { random, customers } = world
  if (customers.length === 0 || random.chance(0.3)) return newCustomer(world, at)
  let found: CustomerFacts | undefined
  for (let tries = 0; tries < 6; tries += 1) {
    found = customers[Math.floor(Math.sqrt(random.next()) * customers.length)]
    if (found === undefined) break
    if (found.gone) continue
    const isRested = at - found.seen > 40 * DAY || (found.onAccount && at - found.seen > 2 * DAY)
    if (isRested && found.shopIds.has(shop.id)) return found
  }
  // In the first weeks nobody can come back yet, so it is a new customer.
  return found === undefined || found.gone || at - found.seen < 10 * DAY ? newCustomer(world, at) : found
}

/** Writes the customer's record as of the last visit, or of a later correction, and the records of the cars. */
export function emitCustomer(world: World, customer: CustomerFacts, until: Moment): void {
  const { random } = world
  const later = customer.seen + (random.chance(0.3) ? random.integer(1, 40 * 24 * 60) * MINUTE : 0)
  const at = later < until ? later : customer.seen
  const record = { ...customerFields(world, customer), created_at: print(customer.since), updated_at: '' }
  if (random.chance(0.04)) record.integrator_tags.push(tag(world, 'Customer', customer.id, at))
  world.emit('customers', record, at)
  for (const [index, vehicle] of customer.vehicles.entries())
    emitVehicle(world, customer, vehicle, Math.max(customer.since + index, customer.seen - index * SECOND))
}

function customerFields(world: World, customer: CustomerFacts) {
  const { random } = world
  const home = world.shops.find(({ id }) => customer.shopIds.has(id)) ?? random.pick(world.shops)
  const numbers = random.chance(0.25) ? 2 : 1
  const phones = Array.from({ length: numbers }, (_, index) =>
    phone(
      `${home.city.area}555${random.digits(4)}`,
      index === 0,
      random.chance(0.6) ? random.pick(['Mobile', 'Home', 'Work']) : null,
    ),
  )
  return {
    id: customer.id,
    first_name: customer.first,
    last_name: customer.last,
    email: `${ascii(customer.first)}.${ascii(customer.last)}${customer.id}@example.com`,
    phone: phones[0]?.national ?? '',
    detail: random.chance(0.1) ? 'Prefers texts. Pays by card on file.' : '',
    address: `${random.integer(1, 9900)} ${random.pick(STREETS)}`,
    city: home.city.name,
    zip: `${home.city.zip}${random.digits(2)}`,
    state: home.city.state,
    marketing_ok: random.chance(0.7),
    shop_ids: [...customer.shopIds],
    phones,
    integrator_tags: [] as unknown[],
  }
}

/** A phone number in three formats. `digits`: the ten digits of area code and number. */
export function phone(digits: string, preferred: boolean, label: string | null) {
  const [area, middle, last] = [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6)]
  return {
    number: `+1${digits}`,
    national: `(${area}) ${middle}-${last}`,
    international: `+1 ${area}-${middle}-${last}`,
    country_code: '1',
    label,
    preferred,
  }
}

/** The document doesn't show the fields of vehicles: these are invented. */
function emitVehicle(world: World, customer: CustomerFacts, vehicle: VehicleFacts, at: Moment): void {
  const { random } = world
  const newest = dateOf(customer.since).year
  const year = random.integer(Math.max(vehicle.model.from, newest - 16), newest)
  const record = {
    id: vehicle.id,
    created_at: print(customer.since),
    updated_at: '',
    customer_id: customer.id,
    year,
    make: vehicle.model.make,
    model: vehicle.model.model,
    engine: random.pick(vehicle.model.engines),
    vin: random.chance(0.06)
      ? null
      : `${vehicle.model.vin}${random.digits(1)}${'ABCDEFGHJKLMNPRST'[year % 17]}${random.digits(7)}`,
    license_plate: `${random.pick(['ABK', 'CJR', 'DPL', 'FTX', 'GHW', 'KNM'])} ${random.digits(4)}`,
    color: random.pick(COLORS),
    odometer: vehicle.odometer,
  }
  world.emit('vehicles', record, at)
}

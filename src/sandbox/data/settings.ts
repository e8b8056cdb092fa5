/**
 * Makes the records that a business has before its first customer. Used by generate.ts.
 */
import { CATEGORIES, JOBS } from './catalogue.js'
import { stockUp } from './stock.js'
import {
  BUSINESSES,
  CITIES,
  type City,
  FIRST_NAMES,
  LAST_NAMES,
  STATUSES,
  STREETS,
  VENDORS,
} from './vocabulary.js'
import { type CannedJob, DAY, type Moment, type ShopFacts, type Stock, type World } from './world.js'

/** Makes the records of a business before its first customer: shops, staff, vendors, canned jobs, stock. */
export function furnish(world: World, shopCount: number, start: Moment, until: Moment): void {
  const opened = start - 30 * DAY
  const make: Make = (resource, fields) => {
    const at = opened + world.random.integer(0, 10 * DAY)
    const record = { ...world.stamps(resource, at), ...fields }
    world.emit(resource, record, at)
    return record.id
  }

  world.statusIds = STATUSES.map(([name, color_code], position) =>
    make('statuses', { name, color_code, position }),
  )
  world.vendorIds = findVendors(world, make, shopCount)
  world.categoryIds = new Map(
    CATEGORIES.map((text) => [text, make('categories', { text, integrator_tags: [] })]),
  )
  const business = world.random.pick(BUSINESSES)
  const cities = world.random.sample(CITIES, shopCount)
  world.shops = Array.from({ length: shopCount }, (_, index) => {
    const city = cities[index % cities.length] ?? world.random.pick(CITIES)
    return openShop(world, make, { name: `${business} – ${city.name}`, city, born: opened, until })
  })
}

type Make = (resource: string, fields: Record<string, unknown>) => number

/** Every shop has vendors of its own. They are there before the shops, whose ids will be 1, 2 and so on. */
function findVendors(world: World, make: Make, shopCount: number): number[][] {
  const found = Array.from({ length: shopCount }, (): number[] => [])
  for (let n = 0; n < Math.max(VENDORS.length, shopCount); n += 1) {
    const name = VENDORS[n % VENDORS.length]
    const shop = n % shopCount
    const account_number = world.random.digits(6)
    const id = make('vendors', { name, shop_id: shop + 1, account_number, active: true, phone: null })
    found[shop]?.push(id)
  }
  return found
}

interface Founding {
  readonly name: string
  readonly city: City
  readonly born: Moment
  readonly until: Moment
}

function openShop(world: World, make: Make, { name, city, born, until }: Founding): ShopFacts {
  const { random } = world
  const id = make('shops', {
    name,
    address: `${random.integer(100, 9900)} ${random.pick(STREETS)}`,
    city: city.name,
    state: city.state,
    zip: `${city.zip}${random.digits(2)}`,
    phone: `(${city.area}) 555-0${random.digits(3)}`,
    time_zone: city.zone,
  })
  const technicians = Array.from({ length: random.integer(2, 6) }, () => hire(world, make, false, true))
  const advisors = Array.from({ length: random.integer(1, 2) }, () => hire(world, make, true, false))
  advisors.push(hire(world, make, true, true))
  hire(world, make, false, true, false)
  const exceptions = ['Tires', 'Fluids', 'Batteries'].map((text, index) =>
    make('gp_exceptions', {
      name: text,
      shop_id: id,
      percent: [24.5, 60, 38.25][index],
      integrator_tags: [],
    }),
  )
  const stock = stockUp(world, id, exceptions, until)
  return {
    id,
    city,
    laborRate: random.integer(230, 330) * 50,
    technicians,
    advisors,
    stock,
    jobs: JOBS.map((job) => canJob(world, make, { shopId: id, job, stock, born })),
    weight: 0.6 + random.next(),
  }
}

function hire(world: World, make: Make, advisor: boolean, technician: boolean, active = true): number {
  const { random } = world
  const [first_name, last_name] = [random.pick(FIRST_NAMES), random.pick(LAST_NAMES)]
  const email = `${ascii(first_name)}.${ascii(last_name)}.${world.id('staff email')}@garage.example`
  return make('staffs', { first_name, last_name, advisor, technician, active, email })
}

export function ascii(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase()
}

interface Recipe {
  readonly shopId: number
  readonly job: CannedJob['job']
  readonly stock: readonly Stock[]
  readonly born: Moment
}

function canJob(world: World, make: Make, { shopId, job, stock, born }: Recipe): CannedJob {
  const { random } = world
  const child = (kind: string) => world.stamps(kind, born)
  const vehicles = random.chance(0.15)
    ? [{ ...child('canned vehicle'), year: '2018', make: 'Ford', model: 'F-150', engine: '3.5L V6 Turbo' }]
    : []
  const id = make('canned_jobs', {
    title: job.title,
    all_vehicles: vehicles.length === 0,
    frequency: job.weight + random.integer(0, 9) / 10,
    category_id: world.categoryIds.get(job.category),
    auto_applied: job.title === 'Multi-point inspection',
    shop_id: shopId,
    optimizer_enabled: random.chance(0.7),
    integrator_tags: [],
    sublets: (job.sublet === undefined ? [] : [job.sublet]).map(([name, price_cents]) => ({
      ...child('canned sublet'),
      name,
      price_cents,
      taxable: false,
    })),
    inspections: job.inspections.map((name) => ({ ...child('canned inspection'), name })),
    vehicles,
    hazmats: (job.hazmat === undefined ? [] : [job.hazmat]).map(([name, fee_cents]) => ({
      ...child('canned hazmat'),
      name,
      fee_cents,
      taxable: false,
      quantity: 1,
    })),
    parts: Object.entries(job.parts).map(([key, quantity]) => ({
      ...child('canned part'),
      part_inventory_id: random.pick(stock.filter((item) => item.key === key)).id,
      taxable: true,
      quantity,
    })),
    labors: [{ ...child('canned labor'), name: job.title, taxable: true, hours: job.hours }],
  })
  return { id, job }
}

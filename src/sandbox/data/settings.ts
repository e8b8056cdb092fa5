/**
 * Makes the records that a business has before its first customer. Used by generate.ts and upkeep.ts.
 */
import type { Random } from '../random.js'
import { CATEGORIES, JOBS } from './catalogue.js'
import { DOOR_SIGN, OpeningHours } from './hours.js'
import { DAY, HOUR, type Moment } from './moment.js'
import { stockUp } from './stock.js'
import { Supply } from './supply.js'
import {
  BUSINESSES,
  type City,
  FIRST_NAMES,
  LAST_NAMES,
  METROS,
  STATUSES,
  STREETS,
  VENDORS,
} from './vocabulary.js'
import type { CannedJob, ShopFacts, Stock, World } from './world.js'

/** Today's estimates may wait this long, so the calendar extends beyond the last record. */
const AHEAD = 150 * DAY

/**
 * Makes the records that a business has before its first customer: shops, staff, vendors, canned jobs, stock.
 * `hiredOn`: the days of its technicians, by shop, counted from the start.
 */
export function furnish(
  world: World,
  hiredOn: readonly (readonly number[])[],
  start: Moment,
  until: Moment,
): void {
  const { random } = world
  const opened = start - 30 * DAY
  const shopCount = hiredOn.length
  const make: Make = (resource, fields, at = opened + random.integer(0, 10 * DAY)) => {
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
  const business = random.pick(BUSINESSES)
  const metro = random.pick(METROS)
  const cities = random.sample(metro, shopCount)
  const hours = OpeningHours.of(metro[0]?.zone ?? 'utc', opened, until + AHEAD)
  const laborRate = rates(random.integer(240, 300) * 50, start)
  world.shops = hiredOn.map((hired, index) => {
    const city = cities[index % cities.length] ?? random.pick(metro)
    const number = index < cities.length ? '' : ` ${Math.floor(index / cities.length) + 1}`
    const name = `${business} – ${city.name}${number}`
    return openShop(world, make, { name, city, hours, laborRate, hired, start, until })
  })
}

/** Cents per hour: 2.3% more every half year, in steps of 50. */
const rates =
  (first: number, start: Moment) =>
  (at: Moment): number =>
    Math.round((first * 1.023 ** Math.max(0, Math.floor((at - start) / (182 * DAY)))) / 50) * 50

type Make = (resource: string, fields: Record<string, unknown>, at?: Moment) => number

/** Every shop has its own vendors. They exist before the shops, whose ids will be 1, 2 and so on. */
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
  readonly hours: OpeningHours
  readonly laborRate: (at: Moment) => number
  readonly hired: readonly number[]
  readonly start: Moment
  readonly until: Moment
}

function openShop(world: World, make: Make, founding: Founding): ShopFacts {
  const { city, hours, laborRate, start, until } = founding
  const { random } = world
  const id = make('shops', addressOf(random, founding))
  const hired = founding.hired.map((day) => {
    const from = start + day * DAY
    return { id: hire(world, make, [false, true], day === 0 ? undefined : from - 3 * DAY + 9 * HOUR), from }
  })
  const advisors = Array.from({ length: 1 + Math.floor(hired.length / 4) }, () =>
    hire(world, make, [true, false]),
  )
  advisors.push(hire(world, make, [true, true]))
  hire(world, make, [false, true, false])
  const exceptions = ['Tires', 'Fluids', 'Batteries'].map((text, index) =>
    make('gp_exceptions', {
      name: text,
      shop_id: id,
      percent: [24.5, 60, 38.25][index],
      integrator_tags: [],
    }),
  )
  const stock = stockUp(world, { shopId: id, exceptions, start: start - 20 * DAY, until })
  const born = start - 30 * DAY
  return {
    id,
    city,
    hours,
    laborRate,
    technicians: hired.map((one) => one.id),
    hired,
    advisors,
    stock,
    stockById: new Map([...stock.values()].flat().map((item) => [item.id, item])),
    supply: new Supply(),
    jobs: JOBS.map((job) => canJob(world, make, { shopId: id, job, stock, born })),
  }
}

export const addressOf = (random: Random, { name, city }: Pick<Founding, 'name' | 'city'>) => ({
  name,
  address: `${random.integer(100, 9900)} ${random.pick(STREETS)}`,
  city: city.name,
  state: city.state,
  zip: `${city.zip}${random.digits(2)}`,
  phone: `(${city.area}) 555-0${random.digits(3)}`,
  time_zone: city.zone,
  opening_hours: DOOR_SIGN,
})

type Role = readonly [isAdvisor: boolean, isTechnician: boolean, isActive?: boolean]

/** A person who was there before the first customer, or who came later, `at` that time. */
function hire(world: World, make: Make, [advisor, technician, active = true]: Role, at?: Moment): number {
  const { random } = world
  const [first_name, last_name] = [random.pick(FIRST_NAMES), random.pick(LAST_NAMES)]
  const email = `${ascii(first_name)}.${ascii(last_name)}.${world.id('staff email')}@garage.example`
  return make('staffs', { first_name, last_name, advisor, technician, active, email }, at)
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
  readonly stock: ReadonlyMap<string, readonly Stock[]>
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
      part_inventory_id: random.pick(stock.get(key) ?? []).id,
      taxable: true,
      quantity,
    })),
    labors: [{ ...child('canned labor'), name: job.title, taxable: true, hours: job.hours }],
  })
  return { id, job }
}

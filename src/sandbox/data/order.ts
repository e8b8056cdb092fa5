/**
 * Makes repair orders and their services. Used by generate.ts, work.ts and advice.ts.
 */
import { dateOf } from './calendar.js'
import { PARTS } from './catalogue.js'
import { DETAILS, LABELS, SOURCES } from './vocabulary.js'
import {
  type CannedJob,
  type CustomerFacts,
  DAY,
  HOUR,
  type Moment,
  print,
  type ShopFacts,
  type World,
} from './world.js'

/* The types follow from the functions of this file: no second list of the fields can disagree with them. */
export type Order = ReturnType<typeof openOrder>
export type Service = ReturnType<typeof buildService>

export interface OrderPayment {
  payment_type: string
  payment_type_details: { type: string; name: string | null }
  notes: string
  amount_cents: number
}

/** An estimate for a customer who has come in, with prices of the shop's stock. */
export function openOrder(world: World, shop: ShopFacts, customer: CustomerFacts, at: Moment) {
  const { random } = world
  const vehicle = random.pick(customer.vehicles)
  vehicle.odometer += random.integer(200, 6000)
  customer.shopIds.add(shop.id)
  customer.seen = at
  const jobs = chooseJobs(world, shop, at)
  const technician = random.pick(shop.technicians)
  const id = world.id('repair_orders')
  return {
    ...world.stamps('stamp', at),
    id,
    number: 10_000 + id,
    odometer: random.chance(0.05) ? null : vehicle.odometer,
    odometer_out: null as number | null,
    state: 'estimate',
    status_id: random.chance(0.1) ? null : random.pick(world.statusIds),
    customer_id: customer.id,
    technician_id: technician,
    advisor_id: random.pick(shop.advisors),
    vehicle_id: vehicle.id,
    shop_id: shop.id,
    detail: random.chance(0.8) ? random.pick(DETAILS) : '',
    preferred_contact_type: random.pick(['Waiting', 'Phone', 'Phone', 'Email', 'Text', 'Text']),
    ...discounts(world),
    ...dates(world, at),
    ...taxes(world, shop),
    customer_source: random.pick(SOURCES),
    supply_fee_cents: random.chance(0.02) ? null : random.integer(0, 60) * 50,
    services: jobs.map((canned) => buildService(world, shop, canned, technician, at)),
    payments: [] as OrderPayment[],
    label: labelOf(world),
    integrator_tags: [] as unknown[],
  }
}

const dates = ({ random }: World, at: Moment) => ({
  started_at: null as string | null,
  closed_at: null as string | null,
  picked_up_at: null as string | null,
  due_in_at: print(at + random.integer(0, 2) * HOUR),
  due_out_at: print(at + random.integer(4, 30) * HOUR),
})

const taxes = ({ random }: World, { city }: ShopFacts) => ({
  part_tax_rate: city.partTax,
  labor_tax_rate: city.state === 'NC' || city.state === 'OH' ? city.partTax : 0,
  sublet_tax_rate: 0,
  hazmat_tax_rate: 0,
  taxable: !random.chance(0.04),
})

function labelOf({ random }: World) {
  if (!random.chance(0.2)) return null
  const [words, color_code] = random.pick(LABELS)
  return { text: words, color_code }
}

function discounts({ random }: World) {
  const none = {
    part_discount_cents: 0 as number | null,
    labor_discount_cents: 0 as number | null,
    part_discount_percentage: null as number | null,
    labor_discount_percentage: null as number | null,
  }
  if (random.chance(0.9)) return none
  if (random.chance(0.5)) return { ...none, labor_discount_cents: random.integer(5, 50) * 100 }
  return {
    ...none,
    part_discount_cents: null,
    labor_discount_cents: null,
    part_discount_percentage: random.pick([5, 7.55, 10]),
    labor_discount_percentage: random.pick([5, 10]),
  }
}

export function chooseJobs(world: World, shop: ShopFacts, at: Moment): CannedJob[] {
  const { random } = world
  const month = dateOf(at).month
  const weights = shop.jobs.map(({ job }) => job.weight * (job.season.includes(month) ? 3 : 1))
  const count = 1 + random.weighted([0.4, 0.32, 0.18, 0.1])
  const chosen = new Set<CannedJob>()
  for (let i = 0; i < count; i += 1) {
    const canned = shop.jobs[random.weighted(weights)]
    if (canned !== undefined) chosen.add(canned)
  }
  return [...chosen]
}

export function buildService(
  world: World,
  shop: ShopFacts,
  canned: CannedJob,
  technician: number,
  at: Moment,
) {
  const { random } = world
  const { job } = canned
  const hours = Math.round(job.hours * (0.9 + random.next() * 0.4) * 10) / 10
  return {
    ...world.stamps('service', at),
    title: job.title,
    completed: false,
    category_id: random.chance(0.03) ? null : (world.categoryIds.get(job.category) ?? null),
    canned_job_id: random.chance(0.1) ? null : canned.id,
    comment: random.chance(0.08) ? 'Recheck at the next visit' : '',
    labor_rate_cents: random.chance(0.01) ? null : shop.laborRate,
    completed_at: null as string | null,
    last_completed_at: null as string | null,
    labors: [
      { ...world.stamps('labor', at), name: job.title, technician_id: technician, taxable: true, hours },
    ],
    parts: Object.entries(job.parts).map(([key, quantity]) => takePart(world, shop, key, quantity, at)),
    ...extras(world, shop, job, at),
  }
}

function extras(world: World, shop: ShopFacts, job: CannedJob['job'], at: Moment) {
  const { random } = world
  const own = (kind: string) => world.stamps(kind, at)
  const hazmats = job.hazmat === undefined ? [] : [job.hazmat]
  const sublets = job.sublet === undefined ? [] : [job.sublet]
  return {
    hazmats: hazmats.map(([name, fee_cents]) => ({
      ...own('hazmat'),
      name,
      fee_cents,
      taxable: false,
      quantity: 1,
    })),
    sublets: sublets.map(([name, price_cents, cost_cents]) => ({
      ...own('sublet'),
      name,
      price_cents,
      cost_cents,
      provider: 'Precision Alignment Center',
      invoice_number: `PA-${random.digits(6)}`,
      description: '',
      taxable: false,
      vendor_id: random.pick(world.vendorsOf(shop.id)),
      invoice_date: print(at - (at % DAY)),
    })),
    inspections: job.inspections.map((name) => ({
      ...own('inspection'),
      name,
      state: 'unchecked',
      detail: '',
    })),
  }
}

function takePart(world: World, shop: ShopFacts, key: string, quantity: number, at: Moment) {
  const { random } = world
  const stock = random.pick(shop.stock.filter((item) => item.key === key))
  const markup = PARTS.find((part) => part.key === key)?.markup ?? 1.6
  const cost = Math.round(stock.cost * (0.97 + random.next() * 0.06))
  return {
    ...world.stamps('part', at),
    brand: stock.brand,
    description: stock.description,
    number: stock.number,
    quoted_price_cents: random.chance(0.85) ? stock.price : Math.round((cost * markup) / 10) * 10,
    cost_cents: cost,
    part_inventory_id: stock.id,
    taxable: true,
    quantity,
  }
}

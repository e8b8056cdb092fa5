/**
 * Makes services with their lines: labor, parts, hazmats, sublets, inspections. Used by order.ts and advice.ts.
 */
import { CORE_CENTS, markupOf } from './catalogue.js'
import { DAY, type Moment, print } from './moment.js'
import type { CannedJob, ShopFacts, Stock, World } from './world.js'

/* The type follows from the function, so no second list of the fields can disagree with it. */
export type Service = ReturnType<typeof buildService>

export function buildService(
  world: World,
  shop: ShopFacts,
  canned: CannedJob,
  technician: number,
  at: Moment,
) {
  const { random } = world
  const { job } = canned
  return {
    ...world.stamps('service', at),
    title: job.title,
    completed: false,
    category_id: random.chance(0.03) ? null : (world.categoryIds.get(job.category) ?? null),
    canned_job_id: random.chance(0.1) ? null : canned.id,
    comment: random.chance(0.08) ? 'Recheck at the next visit' : '',
    labor_rate_cents: random.chance(0.003) ? null : shop.laborRate(at),
    completed_at: null as string | null,
    last_completed_at: null as string | null,
    labors: labors(world, shop, job, technician, at),
    parts: Object.entries(job.parts).flatMap(([key, quantity]) => takeParts(world, shop, key, quantity, at)),
    ...extras(world, shop, job, at),
  }
}

/**
 * Most services have one labor line. Some were begun by one technician and finished by another, or have their own test.
 */
function labors(world: World, shop: ShopFacts, job: CannedJob['job'], technician: number, at: Moment) {
  const { random } = world
  const labor = (name: string, hours: number, by = technician) => ({
    ...world.stamps('labor', at),
    name,
    technician_id: by,
    taxable: !random.chance(0.03),
    hours,
  })
  const hours = clocked(world, job.hours * (0.95 + random.next() * 0.45))
  if (job.hours < 0.5 || random.chance(0.78)) return [labor(job.title, hours)]
  const other = random.chance(0.4) ? random.pick(shop.technicians) : technician
  const second = random.chance(0.06) ? 0 : clocked(world, job.hours * (0.15 + random.next() * 0.25))
  return [
    labor(job.title, hours),
    labor(random.pick(['Road test', 'Remove and inspect', 'Diagnosis']), second, other),
  ]
}

/** Hours as people enter them: in tenths, in twentieths, or from the clock, with all digits of the division. */
function clocked({ random }: World, hours: number): number {
  const kind = random.weighted([0.6, 0.32, 0.08])
  if (kind === 0) return Math.max(1, Math.round(hours * 10)) / 10
  if (kind === 1) return Math.max(1, Math.round(hours * 20)) / 20
  return Math.max(5, Math.round(hours * 60)) / 60
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
      taxable: random.chance(0.7),
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
      taxable: random.chance(0.6),
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

function takeParts(world: World, shop: ShopFacts, key: string, quantity: number, at: Moment) {
  const { random } = world
  const stock = random.pick(shop.stock.get(key) ?? [])
  const cost = Math.round(stock.cost * (0.98 + random.next() * 0.04))
  const part = {
    ...world.stamps('part', at),
    brand: stock.brand,
    description: stock.description,
    number: stock.number,
    quoted_price_cents: priceOf(world, stock, cost),
    cost_cents: random.chance(0.003) ? null : cost,
    part_inventory_id: stock.id,
    taxable: !random.chance(0.02),
    quantity,
  }
  return [part, ...deposits(world, part, stock.core, at)]
}

/** The stock's price; occasionally one set by hand, and hardly ever none. */
function priceOf({ random }: World, { key, price }: Stock, cost: number): number | null {
  if (random.chance(0.002)) return null
  if (!random.chance(0.05)) return price
  return Math.round((cost * markupOf(key, cost) * (0.85 + random.next() * 0.1)) / 100) * 100
}

/** The deposit on an old part: charged, and returned if the part was handed in. */
function deposits<Part extends { readonly description: string; readonly number: string }>(
  world: World,
  part: Part,
  core: number | null,
  at: Moment,
) {
  if (core === null) return []
  const deposit = (quantity: number) => ({
    ...part,
    ...world.stamps('part', at),
    description: `Core: ${part.description}`,
    number: `${part.number}-C`,
    quoted_price_cents: CORE_CENTS as number | null,
    cost_cents: CORE_CENTS as number | null,
    part_inventory_id: core,
    quantity,
  })
  return world.random.chance(0.85) ? [deposit(1), deposit(-1)] : [deposit(1)]
}

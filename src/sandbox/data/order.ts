/**
 * Makes repair orders. Used by generate.ts, work.ts and advice.ts.
 */
import { laborGross, partsGross, settingsFee } from './bill.js'
import { JOBS } from './catalogue.js'
import { buildService } from './lines.js'
import { dateOf, HOUR, type Moment, print } from './moment.js'
import { DETAILS, LABELS, SOURCES } from './vocabulary.js'
import type { CannedJob, CustomerFacts, ShopFacts, World } from './world.js'

/* The type follows from the function, so no second list of the fields can disagree with it. */
export type Order = ReturnType<typeof openOrder>

interface OrderPayment {
  payment_type: string
  payment_type_details: { type: string; name: string | null }
  notes: string
  amount_cents: number
}

/** An estimate for a customer who has come in, with prices from the shop's stock. */
export function openOrder(
  world: World,
  shop: ShopFacts,
  customer: CustomerFacts,
  at: Moment,
  technician = world.random.pick(shop.technicians),
) {
  const { random } = world
  const vehicle = random.pick(customer.vehicles)
  vehicle.odometer += random.integer(200, 6000)
  const source = sourceOf(world, customer)
  customer.shopIds.add(shop.id)
  customer.visits += 1
  customer.seen = at
  const id = world.id('repair_orders')
  const order = {
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
    ...NO_DISCOUNT,
    ...dates(world, at),
    ...taxes(world, shop),
    customer_source: source,
    supply_fee_cents: null as number | null,
    services: chooseJobs(world, shop, at).map((canned) => buildService(world, shop, canned, technician, at)),
    payments: [] as OrderPayment[],
    label: customer.onAccount
      ? labelled('Fleet')
      : random.chance(0.18)
        ? labelled(random.pick(LABELS)[0])
        : null,
    integrator_tags: [] as unknown[],
  }
  if (!random.chance(0.015)) order.supply_fee_cents = settingsFee(laborGross(order))
  if (random.chance(0.12)) Object.assign(order, discounts(world, laborGross(order), partsGross(order)))
  return order
}

function sourceOf({ random }: World, customer: CustomerFacts): string {
  if (customer.visits > 0 && !random.chance(0.03)) return 'Repeat'
  if (customer.onAccount) return 'Fleet'
  return SOURCES[random.weighted(SOURCES.map(([, weight]) => weight))]?.[0] ?? ''
}

/** The hours as first guessed; `promise` sets others once the work is known. */
const dates = ({ random }: World, at: Moment) => ({
  started_at: null as string | null,
  closed_at: null as string | null,
  picked_up_at: null as string | null,
  due_in_at: print(at),
  due_out_at: print(at + random.integer(4, 30) * HOUR),
})

const taxes = ({ random }: World, { city }: ShopFacts) => ({
  part_tax_rate: city.partTax,
  labor_tax_rate: city.laborTax,
  sublet_tax_rate: city.subletTax,
  hazmat_tax_rate: city.hazmatTax,
  taxable: !random.chance(0.04),
})

const labelled = (name: string) => ({
  text: name,
  color_code: LABELS.find(([text]) => text === name)?.[1] ?? '#95a5a6',
})

const NO_DISCOUNT = {
  part_discount_cents: 0 as number | null,
  labor_discount_cents: 0 as number | null,
  part_discount_percentage: null as number | null,
  labor_discount_percentage: null as number | null,
}

const PERCENTAGES = [5, 7.55, 10, 12.5, 15]

/** A discount on the labor, the parts, or both, in cents or in percent. */
function discounts({ random }: World, labor: number, parts: number): Partial<typeof NO_DISCOUNT> {
  const [offLabor, offParts] = random.pick([
    [true, false],
    [true, false],
    [false, true],
    [true, true],
  ])
  if (random.chance(0.55))
    return {
      labor_discount_cents: offLabor ? null : 0,
      labor_discount_percentage: offLabor ? random.pick(PERCENTAGES) : null,
      part_discount_cents: offParts ? null : 0,
      part_discount_percentage: offParts ? random.pick(PERCENTAGES) : null,
    }
  const some = (gross: number): number => Math.min(random.integer(5, 50) * 100, Math.floor(gross * 0.4))
  // Occasionally the discount is larger than the amount; the bill limits it to the amount.
  if (random.chance(0.01)) return { labor_discount_cents: labor + 500 }
  return {
    labor_discount_cents: offLabor ? some(labor) : 0,
    part_discount_cents: offParts ? some(parts) : 0,
  }
}

/**
 * By month, January first: how often customers ask for each job. All shops offer the catalogue's jobs, in its order.
 */
const WISHES = Array.from({ length: 12 }, (_, month) =>
  JOBS.map(({ weight, season }) => weight * (season.includes(month + 1) ? 3 : 1)),
)

export function chooseJobs(world: World, shop: ShopFacts, at: Moment): CannedJob[] {
  const { random } = world
  const wishes = WISHES[dateOf(at).month - 1] ?? []
  const count = 1 + random.weighted([0.4, 0.32, 0.18, 0.1])
  const chosen = new Set<CannedJob>()
  for (let i = 0; i < count; i += 1) {
    const canned = shop.jobs[random.weighted(wishes)]
    if (canned !== undefined) chosen.add(canned)
  }
  return [...chosen]
}

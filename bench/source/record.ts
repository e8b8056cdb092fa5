/**
 * Made-up repair orders of 37 warehouse rows: 1 order, its totals, 4 services, 20 labors and parts, 3 hazmats, 1
 * sublet, 5 inspections, 1 payment, 1 tag; about 12 KB of JSON. Ids and the order's updated_at are placeholders that
 * are filled in when a page is cut (template.ts), so 200,000 orders need only the memory of a few hundred.
 */

/** Placeholders for ids: `9000000` and three digits. */
export const marks = {
  /** Plus n: the nth id of the record itself, up to 63. */
  id: 9_000_000_000,
  /** The repair order, the customer and the vehicle that the record belongs to. */
  order: 9_000_000_900,
  customer: 9_000_000_901,
  vehicle: 9_000_000_902,
} as const
export const updatedMark = '2099-12-31T23:59:59.999Z'

const phrases = [
  'Customer states that the vehicle pulls to the left under braking and that the pedal feels soft. ',
  'Inspected front and rear pads, measured rotors with a micrometer, found 1.2 mm below minimum on the left. ',
  'Recommended replacement of pads and rotors on this axle; the customer approved by phone at 10:42. ',
  'Road tested for eight miles after the repair: no noise, no pull, no warning lights. ',
  'Torqued lug nuts to 100 ft-lbs and asked the customer to come back for a re-torque after 50 miles. ',
]
/** Typed on phones: typographic quotes and names, so a page isn't Latin-1. */
const typed = ['“squeals when cold”, says José Núñez — see photo… ', '', '', '']

export const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T
export const prose = (seed: number, sentences: number): string =>
  Array.from({ length: sentences }, (_, i) => pick(phrases, seed * 7 + i * 3)).join('')
export const stamp = (seed: number): string => new Date(1.7e12 + ((seed * 7919) % 40_000) * 977).toISOString()
const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** Numbers the ids of one order, and makes what all its parts have in common. */
class Numbers {
  #id = 0

  base(seed: number): { id: number; created_at: string; updated_at: string } {
    return {
      id: marks.id + ++this.#id,
      created_at: stamp(seed + this.#id),
      updated_at: stamp(seed + this.#id + 5),
    }
  }
}

const labor = (numbers: Numbers, seed: number): object => ({
  ...numbers.base(seed),
  name: `Replace pads and rotors, ${pick(['front', 'rear'], seed)} axle, including bleeding of the system`,
  technician_id: 40 + (seed % 17),
  taxable: seed % 3 > 0,
  hours: (seed % 9) / 4,
})

const part = (numbers: Numbers, seed: number): object => ({
  ...numbers.base(seed),
  brand: pick(['ACME', 'Bosch', 'Brembo', 'Motorcraft'], seed),
  description: `${pick(['Ceramic brake pad set', 'Coated rotor', 'Caliper bolt kit'], seed)}, with hardware and sensor`,
  number: `BP-${1000 + (seed % 9000)}-${seed % 97}`,
  quoted_price_cents: 1999 + (seed % 20_000),
  cost_cents: 999 + (seed % 9000),
  part_inventory_id: 5000 + (seed % 800),
  taxable: true,
  quantity: 1 + (seed % 4),
})

const hazmat = (numbers: Numbers, seed: number): object => ({
  ...numbers.base(seed),
  name: 'Brake fluid disposal',
  fee_cents: 300 + (seed % 50),
  taxable: false,
  quantity: 1,
})

const sublet = (numbers: Numbers, seed: number): object => ({
  ...numbers.base(seed),
  name: 'Rotor machining',
  price_cents: 9900,
  cost_cents: 6400 + (seed % 100),
  provider: 'Downtown Machine Shop',
  invoice_number: `INV-${10_000 + seed}`,
  description: prose(seed, 1),
  taxable: true,
  vendor_id: 77,
  invoice_date: stamp(seed),
})

const inspection = (numbers: Numbers, seed: number): object => ({
  ...numbers.base(seed),
  name: pick(['Rotor', 'Coolant', 'Belts and hoses', 'Wiper blades'], seed),
  state: pick(['green', 'yellow', 'red', 'unchecked'], seed),
  detail: prose(seed, 1),
})

/** How many rows of one kind each of four services gets. */
const share = (count: number, service: number): number => Math.floor((count + 3 - service) / 4)

function service(numbers: Numbers, seed: number, i: number): object {
  const labors = 7 + (seed % 3)
  return {
    ...numbers.base(seed),
    title: pick(['Front brakes', 'Oil change', 'Cooling system', 'State inspection'], seed + i),
    completed: i % 2 === 0,
    category_id: 3 + (seed % 5),
    canned_job_id: i === 1 ? 300 + (seed % 60) : null,
    comment: pick(typed, seed + i) + prose(seed + i, 4),
    labor_rate_cents: 12_500,
    completed_at: i % 2 === 0 ? stamp(seed + i) : null,
    last_completed_at: i % 2 === 0 ? stamp(seed + i) : null,
    labors: times(share(labors, i), (k) => labor(numbers, seed + i * 5 + k)),
    parts: times(share(20 - labors, i), (k) => part(numbers, seed + i * 3 + k)),
    hazmats: times(share(3, i), (k) => hazmat(numbers, seed + k)),
    sublets: times(share(1, i), (k) => sublet(numbers, seed + k)),
    inspections: times(share(5, i), (k) => inspection(numbers, seed + i + k)),
  }
}

/** One repair order; the seed makes it differ from the others. */
export function repairOrder(seed: number): object {
  const numbers = new Numbers()
  const { id } = numbers.base(seed)
  const ids = {
    customer_id: 10_000 + (seed % 900),
    vehicle_id: 20_000 + (seed % 900),
    shop_id: 1 + (seed % 3),
  }
  return {
    id,
    created_at: stamp(seed),
    updated_at: updatedMark,
    number: 100_000 + seed,
    odometer: 30_000 + seed * 13,
    odometer_out: null,
    state: 'invoice',
    status_id: null,
    ...ids,
    technician_id: 41,
    advisor_id: 52,
    detail: pick(typed, seed) + prose(seed, 6),
    preferred_contact_type: pick(['Phone', 'Email', 'Text', 'Waiting'], seed),
    part_discount_cents: null,
    labor_discount_cents: 500 + (seed % 100),
    part_discount_percentage: 7.55,
    labor_discount_percentage: null,
    started_at: stamp(seed + 1),
    closed_at: stamp(seed + 2),
    picked_up_at: null,
    due_in_at: stamp(seed),
    due_out_at: stamp(seed + 3),
    part_tax_rate: 8.25,
    labor_tax_rate: 0,
    sublet_tax_rate: 0,
    hazmat_tax_rate: 0,
    taxable: true,
    customer_source: 'repeat',
    supply_fee_cents: null,
    services: times(4, (i) => service(numbers, seed + i, i)),
    payments: [
      {
        payment_type: 'Cash',
        payment_type_details: { type: 'Cash', name: null },
        notes: prose(seed, 1),
        amount_cents: 12_000 + seed,
      },
    ],
    label: { text: 'Waiting for parts', color_code: '#ff0000' },
    integrator_tags: [
      {
        ...numbers.base(seed),
        taggable_type: 'RepairOrder',
        taggable_id: id,
        name: 'erp',
        value: `E${seed}`,
      },
    ],
  }
}

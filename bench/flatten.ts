/**
 * How many rows per second flatten makes from pages of repair orders. Run: npm run build && node dist/bench/flatten.js
 */
import { resources } from '../schema/index.js'
import { model } from '../src/engine/model/registry.js'

const at = (n: number): string => new Date(1.7e12 + n * 1000).toISOString()
let next = 1
const base = () => ({ id: next++, created_at: at(next), updated_at: at(next + 5) })
const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))

const service = (): object => ({
  ...base(),
  title: 'Front brakes',
  completed: true,
  category_id: 4,
  canned_job_id: null,
  comment: 'Customer complains about noise',
  labor_rate_cents: 12500,
  completed_at: at(next),
  last_completed_at: at(next),
  labors: times(2, () => ({ ...base(), name: 'Replace pads', technician_id: 7, taxable: true, hours: 1.5 })),
  parts: times(3, () => ({
    ...base(),
    brand: 'ACME',
    description: 'Brake pad set',
    number: 'BP-1203',
    quoted_price_cents: 8999,
    cost_cents: 4500,
    part_inventory_id: 88,
    taxable: true,
    quantity: 2,
  })),
  hazmats: times(1, () => ({ ...base(), name: 'Brake fluid', fee_cents: 300, taxable: false, quantity: 1 })),
  sublets: [],
  inspections: times(2, () => ({ ...base(), name: 'Rotor', state: 'green', detail: 'ok' })),
})

const record = (): object => ({
  ...base(),
  number: next,
  odometer: 120000,
  odometer_out: null,
  state: 'invoice',
  status_id: null,
  customer_id: 5,
  technician_id: 6,
  advisor_id: 7,
  vehicle_id: 8,
  shop_id: 1,
  detail: 'Some notes by staff',
  preferred_contact_type: 'Phone',
  part_discount_cents: null,
  labor_discount_cents: 500,
  part_discount_percentage: 7.55,
  labor_discount_percentage: null,
  started_at: at(next),
  closed_at: at(next),
  picked_up_at: null,
  due_in_at: at(next),
  due_out_at: at(next),
  part_tax_rate: 8.25,
  labor_tax_rate: 0,
  sublet_tax_rate: 0,
  hazmat_tax_rate: 0,
  taxable: true,
  customer_source: 'repeat',
  supply_fee_cents: null,
  services: times(4, service),
  payments: times(1, () => ({
    payment_type: 'Cash',
    payment_type_details: { type: 'Cash', name: null },
    notes: '',
    amount_cents: 12000,
  })),
  label: { text: 'Waiting', color_code: '#ff0000' },
  integrator_tags: [],
})

const flatten = model(resources).byName.get('repair_orders')?.flatten
const pages = times(40, () => JSON.parse(JSON.stringify(times(100, record))) as unknown[])
const rates: number[] = []
for (let round = 0; round < 15; round++) {
  let rows = 0
  const start = process.hrtime.bigint()
  for (const page of pages)
    for (const tuples of flatten?.(1, page, false).rows.values() ?? []) rows += tuples.length
  rates.push(rows / (Number(process.hrtime.bigint() - start) / 1e9))
}
rates.sort((a, b) => a - b)
console.log(
  `${((rates[7] ?? 0) / 1e6).toFixed(2)} M rows/s (median), ${((rates[14] ?? 0) / 1e6).toFixed(2)} best`,
)

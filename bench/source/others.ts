/** Made-up records of the resources other than repair orders: customers, notes, payments and inventory items. */
import { marks, pick, prose, stamp, updatedMark } from './record.js'

const stamps = (seed: number): { created_at: string; updated_at: string } => ({
  created_at: stamp(seed),
  updated_at: updatedMark,
})

const tag = (type: string, n: number, seed: number): object => ({
  id: marks.id + n,
  created_at: stamp(seed),
  updated_at: stamp(seed + 5),
  taggable_type: type,
  taggable_id: marks.id + 1,
  name: 'erp',
  value: `E${seed}`,
})

const phone = (seed: number, preferred: boolean): object => {
  const line = `${200 + (seed % 700)}-${1000 + ((seed * 37) % 9000)}`
  return {
    number: `+1213${line.replace('-', '')}`,
    national: `(213) ${line}`,
    international: `+1 213-${line}`,
    country_code: '1',
    label: preferred ? 'Mobile' : null,
    preferred,
  }
}

const customer = (seed: number): object => ({
  id: marks.id + 1,
  ...stamps(seed),
  first_name: pick(['Maria', 'James', 'Aisha', 'Robert', 'Linda', 'Wei'], seed),
  last_name: pick(['Johnson', 'Garcia', 'Smith', 'Okafor', 'Miller'], seed * 3),
  email: `customer${seed}@example.com`,
  phone: `(213) ${200 + (seed % 700)}-${1000 + ((seed * 37) % 9000)}`,
  detail: seed % 4 === 0 ? prose(seed, 1) : '',
  address: `${100 + seed} Main Street`,
  city: pick(['Los Angeles', 'Pasadena', 'Burbank'], seed),
  state: 'CA',
  zip: String(90_001 + (seed % 900)),
  marketing_ok: seed % 3 > 0,
  shop_ids: seed % 5 === 0 ? [1, 2] : [1 + (seed % 3)],
  phones: seed % 3 === 0 ? [phone(seed, true), phone(seed + 7, false)] : [phone(seed, true)],
  integrator_tags: seed % 10 === 0 ? [tag('Customer', 2, seed)] : [],
})

const note = (seed: number): object => ({
  id: marks.id + 1,
  ...stamps(seed),
  description: prose(seed, 1 + (seed % 3)),
  repair_order_id: marks.order,
})

const payment = (seed: number): object => {
  const type = pick(['Credit Card', 'Credit Card', 'Cash', 'Check'], seed)
  return {
    id: marks.id + 1,
    ...stamps(seed),
    repair_order_id: marks.order,
    payment_type: type === 'Credit Card' ? 'Credit Card - Visa' : type,
    payment_type_details: { type, name: type === 'Credit Card' ? 'Visa' : null },
    notes: seed % 2 === 0 ? 'Paid at the counter' : '',
    amount_cents: 4000 + ((seed * 7919) % 90_000),
    integrator_tags: [],
  }
}

const inventory = (seed: number): object => ({
  id: marks.id + 1,
  ...stamps(seed),
  type: 'PartInventory',
  brand: pick(['ACME', 'Bosch', 'Brembo', 'Motorcraft'], seed),
  description: 'Ceramic brake pad set, with hardware and sensor',
  number: `BP-${1000 + (seed % 9000)}-${seed % 97}`,
  list_price_cents: 2999 + seed,
  cost_cents: 1499 + seed,
  gp_price_cents: 2799 + seed,
  gp_optimizer_active: seed % 2 === 0,
  quantity_on_hand: seed % 12,
  min_stock: 2,
  max_stock: 12,
  hazmat_rating: 'none',
  location: `A-${seed % 40}`,
  misc_info: '',
  part_terminology_id: String(1684 + (seed % 50)),
  core_inventory_id: null,
  supplier_extra_points: 0,
  tags: seed % 4 === 0 ? ['fast mover', 'brakes'] : [],
  integrator_tags: seed % 10 === 0 ? [tag('Inventory', 2, seed)] : [],
  primary_vendor_id: 77,
  last_vendor_id: 77,
  shop_id: 1 + (seed % 3),
  gp_exception_id: null,
  partsplatform_part_id: `PP${10_000 + seed}`,
  quantity_in_progress: seed % 3,
  quantity_needed: 0,
  quantity_ordered: 0,
  quantity_ordered_for_stock: 0,
  quantity_returned: 0,
})

export const others = { customers: customer, notes: note, payments: payment, inventories: inventory } as const

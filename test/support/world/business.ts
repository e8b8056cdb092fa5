/**
 * A business small enough to be computed by hand, as the records of two tenants whose ids collide: discounts of both
 * kinds, a fee left null, lines without prices and costs, absurd values, refunds, a deleted order. The views' results
 * for its days are fixed; anything that depends on today is a number of days before now. No zone here has daylight
 * saving time, so a day is always 24 hours.
 */

import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { done } from '../harness/call.js'
import { type Address, configure } from '../harness/place.js'
import { type Kind, reopen, type Warehouse } from '../harness/warehouse.js'
import { type Gone, remove } from '../oracle/business/sandboxworld.js'

/** The report settings that go with it. */
export const businessReport = {
  timeZone: 'America/Phoenix',
  shopTimeZones: { '1/2': 'Asia/Kathmandu' },
  tenantNames: { '1': 'Desert Auto' },
}

type Fields = Record<string, unknown>

/**
 * Shortly before the day turns in Phoenix or Kathmandu, waits until it has: days before now would not be those of the views.
 */
const hour = 3_600_000
const leftOfDay = (hoursAhead: number): number => 24 * hour - ((Date.now() + hoursAhead * hour) % (24 * hour))
const [left = 0] = [leftOfDay(-7), leftOfDay(5.75)].sort((a, b) => a - b)
if (left < 120_000) await new Promise((resolve) => setTimeout(resolve, left + 1000))

const now = Date.now()
/** This many days, and minutes, before now. */
const ago = (days: number, minutes = 0): string =>
  new Date(now - days * 86_400_000 - minutes * 60_000).toISOString()

const updated = '2026-10-01T00:00:00Z'
const stamps = { created_at: '2026-03-01T12:00:00Z', updated_at: updated }
const item = (id: number, fields: Fields): Fields => ({ id, ...stamps, taxable: true, ...fields })
const labor = (id: number, hours: number | null, fields: Fields = {}): Fields =>
  item(id, { name: `Labor ${id}`, technician_id: 7, hours, ...fields })
const part = (
  id: number,
  quantity: number | null,
  price: number | null,
  cost: number | null,
  inventory = 34,
): Fields =>
  item(id, {
    brand: 'Bosch',
    description: `Part ${id}`,
    number: `P-${id}`,
    quantity,
    quoted_price_cents: price,
    cost_cents: cost,
    part_inventory_id: inventory,
  })
const inspection = (id: number, name: string, state: string): Fields =>
  item(id, { name, state, detail: `${name}: ${state}` })
const service = (id: number, rate: number | null, lines: Fields): Fields => ({
  ...item(id, { title: `Service ${id}`, completed: true, labor_rate_cents: rate, category_id: 3, ...lines }),
})
const cash = (amount_cents: number): Fields => ({
  payment_type: 'Cash',
  payment_type_details: { type: 'Cash', name: null },
  amount_cents,
})
const order = (id: number, fields: Fields): Fields => ({
  id,
  ...stamps,
  number: 1000 + id,
  state: 'invoice',
  status_id: 4,
  shop_id: 1,
  customer_id: id,
  vehicle_id: id,
  technician_id: 7,
  advisor_id: 9,
  part_tax_rate: 8.25,
  labor_tax_rate: 0,
  sublet_tax_rate: 0,
  hazmat_tax_rate: 0,
  taxable: true,
  supply_fee_cents: 0,
  started_at: '2026-03-02T12:00:00Z',
  closed_at: '2026-03-05T01:30:00Z',
  due_out_at: '2026-03-06T00:00:00Z',
  services: [],
  payments: [],
  ...fields,
})
/** An invoice from this many days ago, for this many cents. */
const lately = (id: number, days: number, cents: number, fields: Fields = {}): Fields =>
  order(id, {
    created_at: ago(days + 2),
    started_at: ago(days + 1),
    closed_at: ago(days),
    services: [service(id * 10, cents, { labors: [labor(id * 10, 1)] })],
    ...fields,
  })

const orders: readonly Fields[] = [
  order(1, {
    labor_discount_cents: 1000,
    part_discount_percentage: 10,
    supply_fee_cents: 500,
    picked_up_at: '2026-03-05T13:30:30Z',
    services: [
      service(11, 10250, {
        canned_job_id: 61,
        labors: [labor(111, 0.35), labor(112, 1.5, { technician_id: 8 })],
        parts: [part(113, 3, 1999, 1200)],
        inspections: [inspection(141, 'Pads', 'red'), inspection(142, 'Rotors', 'green')],
      }),
      service(12, 10000, { labors: [labor(121, 1)], parts: [part(122, 1.5, 333, 100)] }),
      service(13, null, {
        hazmats: [item(131, { name: 'Oil', quantity: 2, fee_cents: 355 })],
        sublets: [item(132, { name: 'Machining', price_cents: 9900, cost_cents: 6400, vendor_id: 5 })],
      }),
    ],
    payments: [cash(45_444)],
  }),
  order(2, {
    closed_at: '2026-03-05T06:59:59.999999Z',
    due_out_at: '2026-03-05T00:00:00Z',
    services: [
      service(21, null, {
        labors: [labor(211, 1, { technician_id: null }), labor(212, 0, { technician_id: null })],
        parts: [part(213, 1, null, 500), part(214, 2, 1000, null), part(215, 0, null, null)],
      }),
    ],
  }),
  lately(3, 5, 77_700, {
    vehicle_id: 1,
    labor_discount_cents: 700,
    part_discount_percentage: 5,
    services: [
      service(31, 77_700, {
        canned_job_id: 61,
        labors: [labor(311, 10)],
        parts: [part(312, 9, 999, 1, 31)],
        hazmats: [item(313, { quantity: 1, fee_cents: 355 })],
        sublets: [item(314, { price_cents: 9900, cost_cents: 6400 })],
        inspections: [inspection(341, 'Pads', 'yellow')],
      }),
    ],
  }),
  order(4, {
    shop_id: 2,
    customer_id: 1,
    vehicle_id: 1,
    closed_at: '2026-03-04T18:15:00Z',
    supply_fee_cents: null,
    services: [
      service(41, 5000, { labors: [labor(411, 2)], inspections: [inspection(441, 'Tires', 'green')] }),
    ],
    payments: [cash(4000)],
  }),
  order(5, {
    state: 'estimate',
    created_at: ago(10, 1),
    started_at: null,
    closed_at: null,
    due_out_at: ago(5),
    services: [service(51, 8000, { labors: [labor(511, 1)] })],
  }),
  order(6, {
    state: 'in_progress',
    created_at: ago(4),
    started_at: ago(2, 1),
    closed_at: null,
    due_out_at: ago(-2),
    services: [
      service(61, 8000, {
        parts: [part(611, 1e12, 100, 100), part(612, 1, 9_500_000_000, 100, 31)],
        hazmats: [item(613, { name: 'Oil', quantity: 1, fee_cents: 355 })],
      }),
    ],
  }),
  lately(7, 45, 10_000, {
    customer_id: 3,
    part_tax_rate: 0,
    services: [service(71, 10_000, { labors: [labor(711, 0.8)], parts: [part(712, 4, 500, 333, 31)] })],
  }),
  lately(8, 200, 5000, { customer_id: 4, payments: [cash(5003)] }),
  lately(9, 400, 6000, {
    customer_id: 5,
    vehicle_id: 55,
    payments: [cash(6000)],
    services: [service(91, 6000, { labors: [labor(911, 1)], parts: [part(912, 100, 0, 333, 31)] })],
  }),
  // Deleted, like order 3: an earlier visit of the same customer.
  lately(11, 300, 500, {
    customer_id: 3,
    payments: [cash(300)],
    services: [service(110, 500, { labors: [labor(110, 1)], parts: [part(1101, 2, 450, 200)] })],
  }),
  lately(10, 500, 7000, { customer_id: 5, vehicle_id: 56, payments: [cash(1000)] }),
]

const record = (id: number, fields: Fields): Fields => ({ id, ...stamps, ...fields })
/** Records by their fields: those that have none of a field say undefined. */
const table = (fields: string, ...rows: readonly (readonly unknown[])[]): readonly Fields[] =>
  rows.map(([id, ...values]) => {
    const given = fields.split(' ').map((name, i) => [name, values[i]] as const)
    return record(Number(id), Object.fromEntries(given.filter(([, value]) => value !== undefined)))
  })
const payment = (
  id: number,
  repair_order_id: number,
  amount_cents: number,
  type: string,
  name: string | null = null,
) =>
  record(id, {
    created_at: '2026-03-05T02:00:00Z',
    repair_order_id,
    amount_cents,
    payment_type_details: { type, name },
  })
const attempt = (id: number, repair_order_id: number, status: string | null, minute: number): Fields =>
  record(id, {
    created_at: `2026-03-05T02:${minute}:00Z`,
    repair_order_id,
    status,
    staff_id: 9,
    serial_number: 'HSN-1',
    requested_amount_cents: 100,
    amount_cents: status === 'approved' ? 100 : 0,
  })
const phone = (number: string | null, national: string | null, preferred?: boolean | null): Fields =>
  preferred === undefined ? { number, national } : { number, national, preferred }

/** How customers are reached: the preferred phone, the first one, the old field, blanks. */
const reached: Readonly<Record<number, Fields>> = {
  1: {
    email: 'one@example.com',
    phone: '1',
    phones: [phone('+16025550101', '(602) 555-0101', false), phone('+16025550102', '(602) 555-0102', true)],
  },
  2: { email: '', phones: [phone('+16025550103', ''), phone('2', '2')] },
  3: { phone: '555-0104', phones: [] },
  4: { phone: '4', phones: [phone('+16025550105', '(602) 555-0105', null)] },
  5: { phone: '', phones: [phone(null, null)] },
}

const bought = (inventory_id: number, quantity: number | null, cost_cents: number | null): Fields => ({
  inventory_id,
  quantity,
  cost_cents,
})

/** What is recommended: with every kind of line, and with a part that has no price. */
const brakes = service(901, 10_000, {
  labors: [labor(902, 1)],
  parts: [part(903, 2, 1500, 1)],
  sublets: [item(907, { price_cents: 500, cost_cents: 1 })],
  hazmats: [item(908, { quantity: 2, fee_cents: 50 })],
})
const withoutPrice = service(904, 10_000, { labors: [labor(905, 1)], parts: [part(906, 2, null, 1)] })

const others: Readonly<Record<string, readonly Fields[]>> = {
  shops: table('name', [1, 'Phoenix'], [2, 'Kathmandu']),
  staffs: table(
    'first_name last_name',
    [7, 'Ada', 'Lovelace'],
    [8, 'Grace', 'Hopper'],
    [9, 'Alan', 'Turing'],
  ),
  statuses: table('name', [4, 'Waiting']),
  vehicles: table('name', [1, 'Car 1'], [5, 'Car 5'], [6, 'Car 6']),
  vendors: table('name', [5, 'Parts & Co']),
  categories: table('text', [3, 'Brakes']),
  canned_jobs: table(
    'title shop_id category_id labors',
    [61, 'Pads', 1, 3, [labor(62, 1.5), labor(63, 0.1), labor(64, 1e5)]],
    [65, 'Never sold', undefined, undefined, []],
  ),
  customers: [1, 2, 3, 4, 5, 6].map((id) =>
    record(id, { first_name: 'Customer', last_name: String(id), ...reached[id] }),
  ),
  payments: [
    payment(1, 1, 45_444, 'Cash'),
    payment(2, 4, 4500, 'Credit Card', 'Visa'),
    payment(3, 4, -500, 'Credit Card', 'Visa'),
    payment(4, 3, 999, 'Cash'),
    payment(5, 1, 1, '', ' '),
  ],
  payment_transactions: [
    attempt(1, 1, 'declined', 10),
    attempt(2, 1, 'approved', 20),
    attempt(3, 1, null, 30),
    attempt(4, 2, 'declined', 10),
    attempt(5, 2, 'approved', 10),
    // Tried again in vain.
    attempt(7, 3, 'declined', 10),
    attempt(8, 3, 'declined', 20),
  ],
  inventories: table(
    'shop_id quantity_on_hand cost_cents min_stock quantity_ordered_for_stock quantity_needed quantity_ordered quantity_returned primary_vendor_id created_at',
    [31, 1, 2.5, 333, 3, 0.5, 3, 2, 1e6, 5],
    [32, 1, 0, null, 1, 0],
    [33, 2, null, 100, null, ...Array(5), '2026-03-04T18:15:00Z'],
  ),
  purchase_records: table(
    'created_at shop_id vendor_id is_return line_items',
    [1, '2026-03-05T01:00:00Z', 1, 5, false, [bought(31, 2.5, 333), bought(32, null, 5)]],
    [2, '2026-03-05T01:00:00Z', 2, 5, true, [bought(33, 1, 1000), bought(33, 0, null)]],
  ),
  appointments: table(
    'shop_id staff_id repair_order_id start_at end_at',
    [1, 1, 7, 1, '2026-03-05T01:00:00Z', '2026-03-05T02:30:30Z'],
    [2, 2, null, null, '2026-03-05T02:30:30Z', '2026-03-05T02:00:00Z'],
    [3, 1, undefined, 3, '2026-03-05T01:00:00Z', null],
    [4, 1, undefined, 999, '1989-06-01T01:00:00Z', '1989-06-01T01:00:59Z'],
    [5, 1, undefined, 5, ago(-3), ago(-3, -60)],
    [6, 1, undefined, 5, ago(3), ago(3, -60)],
  ),
  recommendations: table(
    'repair_order_id approved imported service quick_price_cents created_at',
    [1, 1, true, true, {}, 5000, '2026-03-05T01:30:00Z'],
    [2, 4, null, false, brakes, undefined, '2026-03-04T18:15:00Z'],
    [3, 1, false, false, withoutPrice],
    [4, 1, null, false, {}],
  ),
  assignments: table(
    'created_at repair_order_id transfer_from_id transfer_to_id message accepted_at cancelled_at',
    [1, '2026-03-05T01:00:00Z', 1, 7, 8, 'Please test drive', '2026-03-05T01:20:30Z', null],
    [2, '2026-03-05T01:00:00Z', 3, 8, null, '', null, null],
    [3, '2026-03-04T18:15:00Z', 4, 7, 9, '', '2026-03-04T18:16:00Z', '2026-03-04T18:17:00Z'],
  ),
  past_recommendations: table(
    'recommendation_id approved imported done vehicle_id approval_at description',
    [1, 2, true, true, true, 1, '2026-03-10T20:00:00Z'],
    [2, 3, undefined, false, true, 1],
    [4, 90, false, false, false, 5, '2026-03-05T06:30:00Z', 'Wipers'],
    [5, 1, true, false, false, 1],
    [6, 4, true, false, false, 1],
  ),
}

/** The other tenant: the same ids with other contents, none of which may appear in the first tenant's rows. */
const double: readonly Fields[] = [
  order(1, {
    services: [
      service(11, 99_999, {
        labors: [labor(111, 1), labor(112, 1)],
        parts: [part(113, 7, 70_000, 7)],
        inspections: [inspection(141, 'Hoses', 'red')],
      }),
      service(12, 88_888, { labors: [labor(121, 1)] }),
    ],
  }),
  order(4, {
    shop_id: 2,
    closed_at: '2026-03-04T18:15:00Z',
    services: [
      service(41, 1234, { labors: [labor(411, 1)], inspections: [inspection(441, 'Tires', 'green')] }),
    ],
    payments: [cash(1234)],
  }),
  order(5, { state: 'estimate', created_at: ago(10), started_at: null, closed_at: null }),
  lately(7, 45, 2000, {
    services: [
      service(71, 2000, {
        labors: [labor(711, 1), labor(713, null)],
        parts: [part(712, 1, null, null)],
        sublets: [item(714, { price_cents: 100, cost_cents: 50 }), item(715, {})],
        hazmats: [item(716, { quantity: 1, fee_cents: 77 }), item(717, { quantity: 1 })],
      }),
      service(91, null, {}),
    ],
  }),
]

/** What only one of the tenants has. */
const single: Readonly<Record<string, Readonly<Record<1 | 2, Fields>>>> = {
  past_recommendations: {
    1: record(3, { recommendation_id: 5, imported: true, done: true, vehicle_id: 1 }),
    2: record(3, { recommendation_id: 5, imported: false, done: false, vehicle_id: 1 }),
  },
  payment_transactions: { 1: attempt(6, 4, 'approved', 50), 2: attempt(6, 4, 'declined', 40) },
  recommendations: {
    1: record(5, {
      repair_order_id: 4,
      approved: false,
      imported: false,
      service: service(909, 10_000, { labors: [labor(910, 1)] }),
    }),
    2: record(5, { repair_order_id: 4, approved: false, imported: false, service: {} }),
  },
}

/** One record of each resource that is deleted after a first sync: none of them may show. */
const deleted: Readonly<Record<string, Fields>> = {
  canned_jobs: { title: 'Gone', labors: [] },
  customers: { first_name: 'Gone' },
  payments: payment(90, 1, 90, 'Cash'),
  payment_transactions: { ...attempt(90, 1, 'approved', 50), amount_cents: 90 },
  inventories: {
    shop_id: 1,
    quantity_on_hand: 90,
    cost_cents: 90,
    min_stock: 100,
    quantity_ordered_for_stock: 0,
  },
  purchase_records: { shop_id: 1, line_items: [{ inventory_id: 31, quantity: 90, cost_cents: 90 }] },
  appointments: { shop_id: 1, start_at: ago(1), end_at: ago(0) },
  recommendations: { repair_order_id: 1, quick_price_cents: 90, service: {} },
  past_recommendations: { recommendation_id: 4, imported: true, done: true, vehicle_id: 1 },
  assignments: { repair_order_id: 1, transfer_from_id: 7, transfer_to_id: 9 },
}

/** Names differ between tenants, so that a join without the tenant shows. */
const renamed = (fields: Fields, tenant: number): Fields => ({
  ...fields,
  ...(tenant === 2 && 'name' in fields && { name: `${fields.name} 2` }),
  ...(tenant === 2 && 'last_name' in fields && { last_name: `${fields.last_name} 2` }),
})

/** Puts the business into an empty sandbox with tenants 1 and 2. */
export function fillBusiness({ store }: Sandbox): void {
  for (const one of orders) store.put(1, 'repair_orders', one)
  for (const [resource, records] of Object.entries(others))
    for (const one of records) for (const tenant of [1, 2]) store.put(tenant, resource, renamed(one, tenant))
  for (const one of double) store.put(2, 'repair_orders', one)
  for (const [resource, { 1: first, 2: second }] of Object.entries(single)) {
    store.put(1, resource, first)
    store.put(2, resource, second)
  }
  for (const [resource, fields] of Object.entries(deleted))
    store.put(1, resource, { ...record(90, {}), ...fields, id: 90 })
}

/** Deletes two orders, and one record of each resource that a view shows, at the source after a first sync. */
export const deleteSome = (sandbox: Sandbox): Gone[] => [
  ...[3, 11].map((id) => remove(sandbox, 1, 'repair_orders', id)),
  ...Object.keys(deleted).map((resource) => remove(sandbox, 1, resource, 90)),
]

export const businessResources = ['categories', 'repair_orders', ...Object.keys(others)].filter(
  (name, i, all) => all.indexOf(name) === i,
)

export interface BusinessPlace {
  readonly warehouse: Warehouse
  readonly address: Address
  /** Runs the program on that warehouse. */
  run(words: readonly string[]): ReturnType<typeof done>
}

/** The business in a warehouse, put there by the program: synced, then reconciled after deletions at the source. */
export async function businessIn(kind: Kind): Promise<BusinessPlace> {
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 1 }, { id: 2 }] })
  fillBusiness(sandbox)
  const address = await kind.viewed()
  const config = configure(sandbox, address, businessResources, { report: businessReport })
  const run: BusinessPlace['run'] = (words) => done(config, ...words)
  await run(['sync'])
  deleteSome(sandbox)
  await run(['reconcile', '--accept-deletes'])
  await sandbox.close()
  return { warehouse: await reopen(address), address, run }
}

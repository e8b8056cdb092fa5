/**
 * Values that nobody would enter on purpose, spread over the records of a sandbox: barcodes in hours and quantities,
 * floating-point noise, prices of billions, nulls, refunds, discounts larger than their base. And records that lack
 * what the document promises.
 */
import { Random, type Sandbox } from '../../../src/sandbox/index.js'

type Fields = Record<string, unknown>

const numbers: readonly (number | null)[] = [
  ...[12_345_678_905, 9_999_999_999, -12_345_678_905, 1_000_000_000, 999_999_999.5, 1_000_000, 999_999.5],
  ...[100_000, 99_999.9999999994, 99_999.9999999996, 1e12, 1e300, 1e-10, -1e-10, 4.9e-10, 5e-10],
  ...[0.35, -1.5, 0, null],
]
const amounts: readonly (number | null)[] = [
  ...[9_000_000_000, 8_999_999_999, -9_000_000_000, 9_007_199_254_740_991, 5_000_000_000, 1_000_000_000],
  ...[999_999_999, -1_000_000_000, -4_200, 0, 1, null],
]

const numberFields = [
  ...['hours', 'quantity', 'quantity_on_hand', 'quantity_ordered_for_stock', 'min_stock'],
  ...['part_discount_percentage', 'labor_discount_percentage', 'part_tax_rate', 'labor_tax_rate'],
  ...['sublet_tax_rate', 'hazmat_tax_rate'],
]
const amountFields = [
  ...['labor_rate_cents', 'quoted_price_cents', 'cost_cents', 'fee_cents', 'price_cents', 'supply_fee_cents'],
  ...['part_discount_cents', 'labor_discount_cents', 'amount_cents', 'quick_price_cents'],
]

/** Changes a share of a record's fields, and of everything inside. */
function spoiled(value: unknown, random: Random, share: number): unknown {
  if (Array.isArray(value)) return value.map((item) => spoiled(item, random, share))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as Fields).map(([name, own]) => {
      if (random.next() >= share) return [name, spoiled(own, random, share)]
      if (numberFields.includes(name)) return [name, random.pick(numbers)]
      if (amountFields.includes(name)) return [name, random.pick(amounts)]
      if (name === 'taxable') return [name, random.pick([true, false, null])]
      return [name, spoiled(own, random, share)]
    }),
  )
}

/** Labors just under the limit and far beyond it: a sum of all their billionths has more than 63 bits can hold. */
function crowded(order: Fields): Fields {
  const [first, ...others] = (order.services as Fields[] | undefined) ?? []
  if (!first) return order
  const labors = Array.from({ length: 12 }, (_, i) => ({
    id: 7_000_000 + i,
    name: 'Barcode',
    technician_id: 6,
    taxable: false,
    hours: i % 2 === 0 ? 999_999_999.5 : 99_999.5,
  }))
  return { ...order, services: [{ ...first, labor_rate_cents: 1, labors }, ...others] }
}

const resources = ['repair_orders', 'recommendations', 'inventories', 'purchase_records', 'payments']

/** Spoils every nth record of each list with figures. */
export function spoil(
  { store }: Sandbox,
  { every = 2, share = 0.15, seed = 1, tenants = store.tenantIds } = {},
): void {
  const random = new Random(seed)
  for (const tenant of tenants) {
    const crowd = store.all(tenant, 'repair_orders').find(({ state }) => state === 'invoice')
    for (const resource of resources)
      for (const id of store.ids(tenant, resource).filter((_, i) => i % every === 0)) {
        const record = store.stored(tenant, resource, id)
        if (record) store.put(tenant, resource, spoiled(record, random, share) as Fields)
      }
    if (crowd) store.put(tenant, 'repair_orders', crowded(crowd))
  }
}

/** The fields without which a record or an item can't be stored. */
const needed = ['id', 'updated_at']

/** Removes a share of the fields of a record, and of everything inside. */
function starved(value: unknown, random: Random, share: number): unknown {
  if (Array.isArray(value)) return value.map((item) => starved(item, random, share))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as Fields)
      .filter(([name]) => needed.includes(name) || random.next() >= share)
      .map(([name, own]) => [name, starved(own, random, share)]),
  )
}

/** Every list has records without fields that the document always shows. */
export function starve({ store }: Sandbox, share = 0.12, seed = 3): void {
  const random = new Random(seed)
  for (const tenant of store.tenantIds)
    for (const resource of store.resources)
      for (const id of store.ids(tenant, resource)) {
        const record = store.stored(tenant, resource, id)
        if (record) store.put(tenant, resource, starved(record, random, share) as Fields)
      }
}

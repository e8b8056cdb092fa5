/** Repair orders as the API sends them, made by hand for the tests of order totals. */
import type { Int64 } from '../../../schema/resource.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { known } from '../harness/runs.js'
import type { Applied, Warehouse } from '../harness/warehouse.js'

/** `undefined` omits a member. */
type Item = Readonly<Record<string, unknown>>

export interface ServiceOfOrder {
  readonly labor_rate_cents?: unknown
  readonly labors?: readonly Item[]
  readonly parts?: readonly Item[]
  readonly sublets?: readonly Item[]
  readonly hazmats?: readonly Item[]
  readonly inspections?: readonly Item[]
  readonly [other: string]: unknown
}

export interface OrderRecord {
  readonly id: Int64
  readonly updated_at: string
  readonly [other: string]: unknown
}

export const stamp = (second: number): string =>
  new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString().replace('.000Z', '.000000Z')

const numbered = (items: readonly Item[] = [], first: number): Item[] =>
  items.map((item, i) => ({ id: first + i, ...item }))

/** A taxable order, with all rates at 10 % and no supply fee. The ids inside it are derived from its own. */
export function order(
  id: number,
  services: readonly ServiceOfOrder[],
  more: Readonly<Record<string, unknown>> = {},
): OrderRecord {
  return {
    id,
    updated_at: stamp(0),
    created_at: stamp(0),
    number: 1000 + id,
    state: 'invoice',
    shop_id: 1,
    customer_id: 5,
    taxable: true,
    labor_tax_rate: 10,
    part_tax_rate: 10,
    sublet_tax_rate: 10,
    hazmat_tax_rate: 10,
    supply_fee_cents: 0,
    services: services.map((service, i) => {
      const first = id * 10_000 + i * 100
      return {
        id: first,
        title: `service ${i}`,
        completed: true,
        labor_rate_cents: 10_000,
        ...service,
        labors: numbered(service.labors, first + 10),
        parts: numbered(service.parts, first + 30),
        sublets: numbered(service.sublets, first + 50),
        hazmats: numbered(service.hazmats, first + 70),
        inspections: numbered(service.inspections, first + 90),
      }
    }),
    payments: [],
    ...more,
  }
}

export const labor = (hours: unknown, taxable: unknown = true): Item => ({ hours, taxable })
export const part = (
  quantity: unknown,
  quoted_price_cents: unknown,
  cost_cents: unknown = 0,
  taxable: unknown = true,
): Item => ({ quantity, quoted_price_cents, cost_cents, taxable })
export const sublet = (price_cents: unknown, cost_cents: unknown = 0, taxable: unknown = true): Item => ({
  price_cents,
  cost_cents,
  taxable,
})
export const hazmat = (quantity: unknown, fee_cents: unknown, taxable: unknown = true): Item => ({
  quantity,
  fee_cents,
  taxable,
})

export const inspection = (state: unknown): Item => ({ state })

export interface StoreOptions {
  readonly tenantId?: number
  readonly model?: Model
}

/** Stores orders as one page of a list requested at that moment. */
export function storeOrders(
  warehouse: Warehouse,
  records: readonly OrderRecord[],
  syncedAt: string,
  { tenantId = 7, model = known }: StoreOptions = {},
): Promise<Applied> {
  const key = { tenantId, resource: 'repair_orders' }
  const flattened = model.byName.get(key.resource)!.flatten(tenantId, records, true)
  const page = warehouse.encode(flattened, key)
  return warehouse.apply({ ...key, page, syncedAt, statements: [] })
}

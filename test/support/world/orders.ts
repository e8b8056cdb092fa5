/** Repair orders as the API sends them, made by hand for the tests of order totals. */
import type { Int64 } from '../../../schema/resource.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { known } from '../harness/runs.js'
import type { Applied, Warehouse } from '../harness/warehouse.js'

/** `undefined` omits a member. */
type Item = Readonly<Record<string, unknown>>

/** Its lists of lines, and whatever else it has. */
export type ServiceOfOrder = Item

export interface OrderRecord {
  readonly id: Int64
  readonly updated_at: string
  readonly [other: string]: unknown
}

export const stamp = (second: number): string =>
  new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString().replace('.000Z', '.000000Z')

const lists = ['labors', 'parts', 'sublets', 'hazmats', 'inspections']
/** The lines of a service, with ids where they have none. */
const numbered = (service: ServiceOfOrder, first: number): Item =>
  Object.fromEntries(
    lists.map((list, i) => {
      const items = (service[list] ?? []) as readonly Item[]
      return [list, items.map((item, n) => ({ id: first + 10 + 20 * i + n, ...item }))]
    }),
  )

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
        ...numbered(service, first),
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

/** Stores orders as one page of a list requested at that moment. */
export function storeOrders(
  warehouse: Warehouse,
  records: readonly OrderRecord[],
  syncedAt: string,
  { tenantId = 7, model = known }: { readonly tenantId?: number; readonly model?: Model } = {},
): Promise<Applied> {
  const key = { tenantId, resource: 'repair_orders' }
  const flattened = model.byName.get(key.resource)!.flatten(tenantId, records, true)
  const page = warehouse.encode(flattened, key)
  return warehouse.apply({ ...key, page, syncedAt, statements: [] })
}

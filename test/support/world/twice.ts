/**
 * Records that show the services of others under the same ids. A moved service is shown like this until the first order
 * is read again, and so is any record of a source whose ids aren't unique. They have different rates, hours, prices and
 * discounts, so a join by the service only gives different sums.
 */
import type { Sandbox } from '../../../src/sandbox/index.js'

type Fields = Record<string, unknown>

/** Ids of the copies: those of the originals plus this number. */
export const beyond = 5_000_000

const lists = (service: Fields, name: string): Fields[] => (service[name] as Fields[] | undefined) ?? []

/** The same ids with other values. */
const changed = (service: Fields): Fields => ({
  ...service,
  title: `${service.title} as it was`,
  labor_rate_cents: Number(service.labor_rate_cents ?? 0) + 1303,
  labors: lists(service, 'labors').map((labor) => ({ ...labor, hours: Number(labor.hours ?? 0) + 0.35 })),
  parts: lists(service, 'parts').map((part) => ({
    ...part,
    quantity: Number(part.quantity ?? 0) + 1.5,
    quoted_price_cents: Number(part.quoted_price_cents ?? 0) + 333,
    cost_cents: Number(part.cost_cents ?? 0) + 77,
  })),
})

/** Every third order and recommendation with a service gets a twin. Returns how many. */
export function showTwice({ store }: Sandbox): number {
  let twins = 0
  for (const tenant of store.tenantIds) {
    for (const id of store.ids(tenant, 'repair_orders').filter((_, i) => i % 3 === 0)) {
      const order = store.stored(tenant, 'repair_orders', id) as Fields
      const services = lists(order, 'services').map(changed)
      if (services.length === 0) continue
      const discounts = {
        labor_discount_cents: 1234,
        part_discount_cents: null,
        part_discount_percentage: 7.5,
      }
      store.put(tenant, 'repair_orders', { ...order, ...discounts, id: id + beyond, services })
      twins++
    }
    for (const id of store.ids(tenant, 'recommendations').filter((_, i) => i % 3 === 0)) {
      const one = store.stored(tenant, 'recommendations', id) as Fields
      const service = one.service as Fields | null
      if (!service?.id) continue
      store.put(tenant, 'recommendations', { ...one, id: id + beyond, service: changed(service) })
      twins++
    }
  }
  return twins
}

/**
 * Invoices whose figures are easy to get wrong: several visits of a customer on one day, an invoice whose work never
 * started, a line with absurd hours next to ordinary ones. They are put into the first tenant of a sandbox, whose shop
 * 1 must be in Chicago and whose shop 2 in Kathmandu.
 */
import type { Sandbox } from '../../../src/sandbox/index.js'
import { type Fields, order } from './handmade.js'

const first = 9_100_000

/** The orders, by what they are. */
const odd = {
  /** One customer, at shop 1: the one with the higher id was closed first. */
  morning: first + 3,
  evening: first + 1,
  /** One customer, at one instant. */
  twin: first + 5,
  otherTwin: first + 6,
  /** One customer and day, closed at 14:15 UTC in Kathmandu (20:00 there), and at 15:00 UTC in Chicago (10:00 there). */
  kathmandu: first + 8,
  chicago: first + 7,
  /** Closed three days after it was created, and never started. */
  unstarted: first + 9,
  absurd: first + 10,
} as const

/** The day on which all but one are closed. */
const oddDay = '2026-09-16'

const invoice = (id: number, customer: number, closed: string, more: Fields = {}): Fields =>
  order(id, closed, {
    updated_at: `${oddDay}T23:00:00Z`,
    created_at: '2026-09-14T12:00:00Z',
    customer_id: first + customer,
    vehicle_id: first + customer,
    started_at: '2026-09-15T12:00:00Z',
    picked_up_at: null,
    ...more,
  })

const invoices: readonly Fields[] = [
  invoice(odd.evening, 1, `${oddDay}T22:00:00Z`),
  invoice(odd.morning, 1, `${oddDay}T16:00:00.000001Z`),
  invoice(odd.twin, 2, `${oddDay}T16:00:00Z`),
  invoice(odd.otherTwin, 2, `${oddDay}T16:00:00Z`),
  invoice(odd.chicago, 3, `${oddDay}T15:00:00Z`),
  invoice(odd.kathmandu, 3, `${oddDay}T14:15:00Z`, { shop_id: 2 }),
  invoice(odd.unstarted, 4, '2026-09-17T12:00:30Z', { started_at: null }),
  invoice(odd.absurd, 5, `${oddDay}T16:00:00Z`, {
    services: [
      {
        id: odd.absurd,
        labor_rate_cents: 10_000,
        labors: [999_999_999.5, 2].map((hours, i) => ({ id: odd.absurd * 10 + i, technician_id: 1, hours })),
        parts: [
          { id: 9_200_001, quantity: 1_000_000, quoted_price_cents: 1, cost_cents: 1, taxable: true },
          { id: 9_200_002, quantity: 1, quoted_price_cents: 1_000_000_000, cost_cents: 1, taxable: true },
          { id: 9_200_003, quantity: 2, quoted_price_cents: 500, cost_cents: 300, taxable: true },
        ],
      },
    ],
  }),
]

export function putOddInvoices({ store }: Sandbox): void {
  const [tenant = 0] = store.tenantIds
  for (const one of invoices) store.put(tenant, 'repair_orders', one)
}

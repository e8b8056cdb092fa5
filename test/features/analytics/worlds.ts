/**
 * The worlds in which views are compared with the oracle of the business: one that is generated, and one that is made by hand,
 * for what is easy to get wrong. Some of what they have to show was computed by hand, too.
 */
import type { Sandbox } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { type Gone, type ReportSettings, remove } from '../../support/oracle/business/sandboxworld.js'
import { businessReport, businessResources, deleteSome, fillBusiness } from '../../support/world/business.js'
import { type Fields, order, payment, stamps, updated } from '../../support/world/handmade.js'
import { spoil } from '../../support/world/hostile.js'
import { showTwice } from '../../support/world/twice.js'

export interface BusinessWorld {
  readonly name: string
  readonly report: ReportSettings
  readonly resources: readonly string[]
  make(): Promise<Sandbox>
  /** What is deleted after a first sync. */
  deleteSome(sandbox: Sandbox): Gone[]
  /** Whether every view has several rows. */
  readonly isLarge: boolean
  /** Other settings, with which everything is compared again. */
  readonly laterReport?: ReportSettings
}

/**
 * Invoices whose figures are easy to get wrong, of the first tenant, whose shop 1 is in Chicago and whose shop 2 in Kathmandu.
 * Nearly all are closed on one day.
 */
const oddDay = '2026-09-16'
const firstOdd = 9_100_000
const odd = (id: number, customer: number, closed: string, more: Fields = {}): Fields =>
  order(firstOdd + id, closed, {
    updated_at: `${oddDay}T23:00:00Z`,
    created_at: '2026-09-14T12:00:00Z',
    customer_id: firstOdd + customer,
    vehicle_id: firstOdd + customer,
    started_at: '2026-09-15T12:00:00Z',
    picked_up_at: null,
    ...more,
  })

const oddInvoices: readonly Fields[] = [
  // Several visits of a customer on one day: the one with the higher id was closed first.
  odd(1, 1, `${oddDay}T22:00:00Z`),
  odd(3, 1, `${oddDay}T16:00:00.000001Z`),
  // At one instant.
  odd(5, 2, `${oddDay}T16:00:00Z`),
  odd(6, 2, `${oddDay}T16:00:00Z`),
  // At 10:00 in Chicago, and earlier, at 20:00 in Kathmandu.
  odd(7, 3, `${oddDay}T15:00:00Z`),
  odd(8, 3, `${oddDay}T14:15:00Z`, { shop_id: 2 }),
  // Closed three days after it was created, and its work never started.
  odd(9, 4, '2026-09-17T12:00:30Z', { started_at: null }),
  // Before the calendar, and after it.
  odd(11, 6, '1971-03-05T12:00:00Z', { created_at: '1971-03-01T12:00:00Z', started_at: null }),
  odd(12, 6, '2090-03-05T12:00:00Z'),
  // A line with absurd hours next to ordinary ones.
  odd(10, 5, `${oddDay}T16:00:00Z`, {
    services: [
      {
        id: firstOdd + 10,
        labor_rate_cents: 10_000,
        labors: [999_999_999.5, 2].map((hours, i) => ({
          id: (firstOdd + 10) * 10 + i,
          technician_id: 1,
          hours,
        })),
        parts: [
          { id: 9_200_001, quantity: 1_000_000, quoted_price_cents: 1, cost_cents: 1, taxable: true },
          { id: 9_200_002, quantity: 1, quoted_price_cents: 1_000_000_000, cost_cents: 1, taxable: true },
          { id: 9_200_003, quantity: 2, quoted_price_cents: 500, cost_cents: 300, taxable: true },
        ],
      },
    ],
  }),
]

/** On an order in progress, before it was there; one that was returned a month later; a payment without an order. */
function putDeposits({ store }: Sandbox): void {
  for (const tenant of store.tenantIds) {
    const [open] = store.all(tenant, 'repair_orders').filter(({ state }) => state !== 'invoice')
    const paid: readonly (readonly [created: string | null, cents: number, order: unknown])[] = [
      ['2026-08-31T23:30:00Z', 5000, open?.id],
      ['2026-09-01T08:00:00Z', 700, open?.id],
      ['2026-10-01T08:00:00Z', -700, open?.id],
      ['1971-03-05T08:00:00Z', 11, open?.id],
      ['2090-03-05T08:00:00Z', 12, open?.id],
      [null, 30, null],
    ]
    for (const [i, [created_at, amount_cents, repair_order_id]] of paid.entries())
      store.put(tenant, 'payments', {
        id: 9_300_001 + i,
        created_at,
        updated_at: '2026-11-01T00:00:00Z',
        amount_cents,
        repair_order_id,
        notes: 'in advance',
      })
  }
}

/** An order to which payments, recommendations and attempts still refer. */
function deleteOrder(sandbox: Sandbox): Gone[] {
  const { store } = sandbox
  const [tenant = 0] = store.tenantIds
  const isNamed = (resource: string, id: unknown): boolean =>
    store.all(tenant, resource).some(({ repair_order_id }) => repair_order_id === id)
  const order = store
    .all(tenant, 'repair_orders')
    .find(({ id }) =>
      ['recommendations', 'payment_transactions', 'payments'].every((name) => isNamed(name, id)),
    )
  return [remove(sandbox, tenant, 'repair_orders', Number(order?.id))]
}

/** Two tenants with the same ids; one has ordinary values, and nearly all of the other's are absurd. */
const generated: BusinessWorld = {
  name: 'a business as it could be, and one with absurd values',
  report: { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } },
  resources: businessResources,
  make: async () => {
    const sandbox = await sandboxOfFile({
      tenants: 2,
      repairOrders: 70,
      seed: 23,
      until: '2026-11-20T12:00:00Z',
    })
    showTwice(sandbox)
    spoil(sandbox, { every: 1, tenants: [102] })
    for (const one of oddInvoices) sandbox.store.put(101, 'repair_orders', one)
    putDeposits(sandbox)
    return sandbox
  },
  deleteSome: deleteOrder,
  isLarge: true,
}

/** Records of one name each, with ids from 1. */
const called = (count: number, fields: Fields): Fields[] =>
  Array.from({ length: count }, (_, i) => ({ id: i + 1, ...stamps('2026-11-01T05:30:00Z'), ...fields }))

type Lists = Readonly<Record<string, readonly Fields[]>>

/**
 * Clocks that change within a month, people of one name, payments before or without their order. In Chicago, clocks go back
 * on November 1 at 07:00 UTC: it is 01:30 there twice.
 */
const whileClocksChange: Lists = {
  // The third has no data.
  shops: called(3, { name: 'Main Street' }),
  customers: called(3, { first_name: 'Ann', last_name: 'Lee' }),
  staffs: called(2, { first_name: 'Bo', last_name: 'Ray' }),
  repair_orders: [
    order(1, '2026-11-01T06:30:00Z'),
    order(2, '2026-11-01T07:30:00Z'),
    order(3, '2026-11-02T05:59:59.999999Z', { customer_id: 2, technician_id: 2 }),
    order(4, '2026-11-01T04:59:59Z'),
    order(5, null),
    order(6, '2026-11-05T12:00:00Z', { customer_id: 3 }),
    order(7, '2026-11-05T12:00:00Z', { customer_id: 3 }),
    // In shop 2, whose zone the configuration changes.
    order(8, '2026-10-31T20:00:00Z', { shop_id: 2, technician_id: 2 }),
  ],
  payments: [
    // Before its order was even created, and on the day of closing, whose clock shows the same time twice.
    payment(11, 1, '2026-10-19T15:00:00Z', 4000),
    payment(12, 1, '2026-11-01T07:30:00Z', 6000),
    payment(13, 3, '2026-11-04T05:30:00Z'),
    // A deposit on an estimate; without an order; of an order that nobody knows; of the one that is deleted.
    payment(14, 5, '2026-10-25T12:00:00Z', 500),
    payment(15, null, '2026-10-25T12:00:00Z'),
    payment(16, 99, '2026-10-25T12:00:00Z'),
    payment(17, 7, '2026-11-05T12:00:00Z'),
    // Two at one instant, then a refund of what was too much.
    payment(19, 6, '2026-11-06T12:00:00Z', 7000),
    payment(18, 6, '2026-11-06T12:00:00Z', 7000),
    payment(20, 6, '2026-11-07T12:00:00Z', -4000),
    payment(21, 8, '2026-10-31T18:20:00Z'),
    // Deleted after a first sync.
    payment(22, 8, '2026-10-31T18:00:00Z', 50),
    payment(23, 8, '2026-10-31T19:00:00Z', 300),
  ],
}

export const tomorrow = new Date(Date.now() + 86_400_000).toISOString()

/** Created in August, in the given shop. */
const inShop = (shop: number, id: number, closed: string | null, more: Fields = {}): Fields =>
  order(id, closed, {
    shop_id: shop,
    created_at: '2026-08-10T12:00:00Z',
    started_at: closed && '2026-08-10T12:00:00Z',
    ...more,
  })

/** Invoices of 10,000 cents in shop 7, closed on September 5: their payments. */
const paidInvoices: readonly (readonly [why: string, paid: string])[] = [
  ['paid at once', '2026-09-05 10000'],
  ['paid before the order was there', '2026-07-01 10000'],
  ['a deposit and the rest', '2026-08-20 4000, 2026-09-08 6000'],
  ['charged twice, refunded later', '2026-09-06 10000, 2026-09-06 10000, 2026-10-20 -10000'],
  ['too much, never returned', '2026-09-07 15000'],
  ['refunded in full', '2026-09-06 10000, 2026-09-09 -10000'],
  ['refunded and paid again', '2026-09-06 10000, 2026-09-09 -10000, 2026-09-15 10000'],
  ['never covered', '2026-09-06 9999'],
]
const firstPaid = 100

const paidInPeriods: readonly Fields[] = [
  // Both deleted after a first sync: it was one charge, entered twice.
  payment(1, 1, '2026-09-15T12:00:00Z'),
  payment(2, 1, '2026-09-15T12:00:00Z'),
  payment(3, 4, '2026-08-20T12:00:00Z', 700),
  // Older than its order; a part of it went back.
  payment(4, 5, '2026-07-20T12:00:00Z', 500),
  payment(5, 5, '2026-09-20T12:00:00Z', -200),
  payment(6, 99, '2026-08-05T12:00:00Z', 30),
  payment(7, null, '2026-08-05T12:00:00Z', 4),
  // Of the deleted order: just before midnight in its shop's zone, the next day in UTC.
  payment(8, 8, '2026-09-06T04:30:00Z', 10_000),
  payment(9, 8, '2026-10-01T04:30:00Z', -1000),
  ...paidInvoices.flatMap(([, paid], i) =>
    paid.split(', ').map((one, j) => {
      const [day, cents] = one.split(' ')
      return payment(1000 + 10 * i + j, firstPaid + i, `${day}T1${j}:00:00Z`, Number(cents))
    }),
  ),
]
/** Payments that were deleted or refunded, shops that open tomorrow or have only deposits. */
const periodsOfShops: Lists = {
  shops: called(7, {}).map(({ id }) => ({ id, ...stamps(updated), name: `Shop ${id}` })),
  repair_orders: [
    inShop(1, 1, '2026-09-10T12:00:00Z'),
    inShop(1, 2, '2026-09-12T12:00:00Z'),
    inShop(2, 3, '2026-09-01T12:00:00Z'),
    // The first invoice of shop 3 is closed tomorrow; shop 4 has only an estimate, and shop 5 nothing.
    inShop(3, 4, tomorrow),
    inShop(4, 5, null),
    // Opened again; with an unknown total; deleted after a first sync, all in shop 6.
    inShop(6, 6, null, { state: 'in_progress', picked_up_at: '2026-09-05T12:00:00Z' }),
    inShop(6, 7, '2026-10-05T12:00:00Z', { taxable: true, supply_fee_cents: null }),
    inShop(6, 8, '2026-09-05T12:00:00Z'),
    ...paidInvoices.map((_, i) => inShop(7, firstPaid + i, '2026-09-05T12:00:00Z')),
  ],
  payments: paidInPeriods,
}

/** What each tenant has besides 1 and 2, which are the small business. */
const [clocks, periods] = [3, 4]
const inUtc = [`${clocks}/3`, ...[1, 2, 3, 4, 5, 7].map((shop) => `${periods}/${shop}`)]
const zones = {
  ...businessReport.shopTimeZones,
  ...Object.fromEntries(inUtc.map((shop) => [shop, 'UTC'])),
  ...Object.fromEntries(['3/1', '3/2', '4/6'].map((shop) => [shop, 'America/Chicago'])),
}

const handmade: BusinessWorld = {
  name: 'businesses made by hand, with deleted records of every kind',
  report: { ...businessReport, shopTimeZones: zones },
  laterReport: { ...businessReport, shopTimeZones: { ...zones, '3/2': 'Asia/Kathmandu' } },
  resources: businessResources,
  make: async () => {
    const tenants = [1, 2, clocks, periods].map((id) => ({ id }))
    const sandbox = await sandboxOfFile({ data: 'none', tenants })
    fillBusiness(sandbox)
    for (const [tenant, lists] of [[clocks, whileClocksChange] as const, [periods, periodsOfShops] as const])
      for (const [resource, records] of Object.entries(lists))
        for (const record of records) sandbox.store.put(tenant, resource, record)
    return sandbox
  },
  deleteSome: (sandbox) => [
    ...deleteSome(sandbox),
    remove(sandbox, clocks, 'repair_orders', 7),
    ...[22, 23].map((id) => remove(sandbox, clocks, 'payments', id)),
    remove(sandbox, periods, 'repair_orders', 8),
    ...[1, 2].map((id) => remove(sandbox, periods, 'payments', id)),
  ],
  isLarge: false,
}

export const worlds: readonly BusinessWorld[] = [generated, handmade]

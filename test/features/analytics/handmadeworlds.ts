/**
 * Worlds made by hand for what is easy to get wrong about days and payments, each with what some views have to show, as
 * computed by hand.
 */
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { remove } from '../../support/oracle/business/sandboxworld.js'
import { type Fields, order, payment, stamps, updated } from '../../support/world/handmade.js'
import type { BusinessWorld } from './worlds.js'

const resources = ['repair_orders', 'payments', 'customers', 'staffs', 'shops']

async function sandboxOf(lists: Readonly<Record<string, readonly Fields[]>>): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
  for (const [resource, records] of Object.entries(lists))
    for (const record of records) sandbox.store.put(101, resource, record)
  return sandbox
}

/** Records of one name each, with ids from 1. */
const called = (count: number, fields: Fields): Fields[] =>
  Array.from({ length: count }, (_, i) => ({ id: i + 1, ...stamps('2026-11-01T05:30:00Z'), ...fields }))

const chicago = { '101/1': 'America/Chicago', '101/2': 'America/Chicago' }

/** Clocks in Chicago go back on November 1 at 07:00 UTC: it is 01:30 there twice. */
const whileClocksChange: BusinessWorld = {
  name: 'clocks that change within a month, people of one name, payments before or without their order',
  report: { timeZone: 'UTC', shopTimeZones: chicago },
  laterReport: { timeZone: 'UTC', shopTimeZones: { ...chicago, '101/2': 'Asia/Kathmandu' } },
  resources,
  make: () =>
    sandboxOf({
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
    }),
  deleteSome: (sandbox) => [
    remove(sandbox, 101, 'repair_orders', 7),
    ...[22, 23].map((id) => remove(sandbox, 101, 'payments', id)),
  ],
  isLarge: false,
  isOnBoth: true,
  byHand: [
    [
      'orders',
      'repair_order_id closed_on closed_at_local closed_hour',
      'where repair_order_id <= 4',
      [
        [1, '2026-11-01', '2026-11-01 01:30:00', 1],
        [2, '2026-11-01', '2026-11-01 01:30:00', 1],
        [3, '2026-11-01', '2026-11-01 23:59:59', 23],
        [4, '2026-10-31', '2026-10-31 23:59:59', 23],
      ],
    ],
    // That day has 25 hours; the whole of it is one day of three invoices.
    [
      'daily_sales',
      'day invoices sales_cents',
      "where shop_id = 1 and day < '2026-11-05'",
      [
        ['2026-10-31', 1, 10_000],
        ['2026-11-01', 3, 30_000],
      ],
    ],
    [
      'payments_ledger',
      'payment_id paid_on is_deposit is_refund paid_so_far_cents settled_on days_to_pay order_gone shop_id',
      '',
      [
        [11, '2026-10-19', true, false, 4000, null, null, false, 1],
        [12, '2026-11-01', false, false, 10_000, '2026-11-01', 0, false, 1],
        [13, '2026-11-03', false, false, 10_000, '2026-11-03', 2, false, 1],
        [14, '2026-10-25', true, false, 500, null, null, false, 1],
        // A deleted order still tells its shop.
        [15, '2026-10-25', false, false, 10_000, null, null, true, null],
        [16, '2026-10-25', false, false, 10_000, null, null, true, null],
        [17, '2026-11-05', false, false, 10_000, null, null, true, 1],
        [18, '2026-11-06', false, false, 7000, null, null, false, 1],
        [19, '2026-11-06', false, false, 14_000, '2026-11-06', 1, false, 1],
        [20, '2026-11-07', false, true, 10_000, null, null, false, 1],
        [21, '2026-10-31', false, false, 10_000, '2026-10-31', 0, false, 2],
      ],
    ],
    // October: order 4. November: orders 2 and 4. Payments of shop 2 were deleted since: what is left covers the order.
    [
      'shop_months',
      'shop_id month receivables_cents receivables_left_out',
      "where shop_id = 1 and month in ('2026-10', '2026-11') or shop_id = 2 and month = '2026-10'",
      [
        [1, '2026-10', 10_000, 0],
        [1, '2026-11', 20_000, 0],
        [2, '2026-10', 0, 1],
      ],
    ],
    [
      'dim_shops',
      'shop_id shop_name first_day',
      '',
      [
        [1, 'Main Street', '2026-10-31'],
        [2, 'Main Street', '2026-10-31'],
        [3, 'Main Street', null],
      ],
    ],
    [
      'customer_value',
      'customer_key customer_name visits invoices second_visit_on',
      '',
      [
        ['101-1', 'Ann Lee', 2, 4, '2026-11-01'],
        ['101-2', 'Ann Lee', 1, 1, null],
        ['101-3', 'Ann Lee', 1, 1, null],
      ],
    ],
  ],
}

const tomorrow = new Date(Date.now() + 86_400_000).toISOString()

/** Created in August, in the given shop. */
const inShop = (shop: number, id: number, closed: string | null, more: Fields = {}): Fields =>
  order(id, closed, {
    shop_id: shop,
    created_at: '2026-08-10T12:00:00Z',
    started_at: closed && '2026-08-10T12:00:00Z',
    ...more,
  })

/** Invoices of 10,000 cents in shop 7, closed on September 5: their payments, and the days until they were settled. */
const paidInvoices: readonly (readonly [why: string, paid: [string, number][], days: number | null])[] = [
  ['paid at once', [['2026-09-05', 10_000]], 0],
  ['paid before the order was there', [['2026-07-01', 10_000]], 0],
  [
    'a deposit and the rest',
    [
      ['2026-08-20', 4000],
      ['2026-09-08', 6000],
    ],
    3,
  ],
  [
    'charged twice, refunded later',
    [
      ['2026-09-06', 10_000],
      ['2026-09-06', 10_000],
      ['2026-10-20', -10_000],
    ],
    1,
  ],
  ['too much, never returned', [['2026-09-07', 15_000]], 2],
  [
    'refunded in full',
    [
      ['2026-09-06', 10_000],
      ['2026-09-09', -10_000],
    ],
    null,
  ],
  [
    'refunded and paid again',
    [
      ['2026-09-06', 10_000],
      ['2026-09-09', -10_000],
      ['2026-09-15', 10_000],
    ],
    10,
  ],
  ['never covered', [['2026-09-06', 9999]], null],
]
const firstPaid = 100

const payments: readonly Fields[] = [
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
    paid.map(([day, cents], j) => payment(1000 + 10 * i + j, firstPaid + i, `${day}T1${j}:00:00Z`, cents)),
  ),
]
const collected = payments.slice(2).reduce((sum, { amount_cents }) => sum + Number(amount_cents), 0)
const ofGoneOrders = 30 + 4 + 10_000 - 1000

const periodsOfShops: BusinessWorld = {
  name: 'payments that were deleted or refunded, shops that open tomorrow or have only deposits',
  report: { timeZone: 'UTC', shopTimeZones: { '101/6': 'America/Chicago' } },
  resources,
  make: () =>
    sandboxOf({
      shops: Array.from({ length: 7 }, (_, i) => ({
        id: i + 1,
        ...stamps(updated),
        name: `Shop ${i + 1}`,
      })),
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
      payments,
    }),
  deleteSome: (sandbox) => [
    remove(sandbox, 101, 'repair_orders', 8),
    ...[1, 2].map((id) => remove(sandbox, 101, 'payments', id)),
  ],
  isLarge: false,
  isOnBoth: true,
  byHand: [
    [
      'payments_ledger',
      'repair_order_id days_to_pay',
      `where shop_id = 7 and settled_on is not null`,
      paidInvoices.flatMap(([, , days], i) => (days === null ? [] : [[firstPaid + i, days]])),
    ],
    ['payments_daily', 'sum(amount_cents) sum(order_gone_cents)', '', [[collected, ofGoneOrders]]],
    ['payments_ledger', 'sum(amount_cents)', '', [[collected]]],
    ['shop_days', 'sum(collected_cents)', '', [[collected]]],
    ['shop_months', 'sum(collected_cents)', '', [[collected]]],
    [
      'payments_daily',
      'day amount_cents order_gone_cents deposit_cents refund_cents',
      'where shop_id = 6',
      [
        ['2026-09-05', 10_000, 10_000, 0, 0],
        ['2026-09-30', -1000, -1000, 0, -1000],
      ],
    ],
    // One order of shop 1 has lost two payments. One of shop 6 was opened again, and the total of another is unknown.
    [
      'shop_months',
      'shop_id month receivables_cents receivables_left_out',
      "where month in ('2026-09', '2026-10') and shop_id in (1, 2, 6)",
      [
        [1, '2026-09', 20_000, 1],
        [1, '2026-10', 20_000, 1],
        [2, '2026-09', 10_000, 0],
        [2, '2026-10', 10_000, 0],
        [6, '2026-09', 0, 1],
        [6, '2026-10', 0, 2],
      ],
    ],
    [
      'shop_months',
      'month is_open deposits_cents deposits_held_cents',
      "where shop_id = 4 and month <= '2026-10'",
      [
        ['2026-07', false, 500, 500],
        ['2026-08', false, 0, 500],
        ['2026-09', false, -200, 300],
        ['2026-10', false, 0, 300],
      ],
    ],
    // Without a shop, there is a row only where something is.
    ['shop_months', 'month collected_cents', 'where shop_id is null', [['2026-08', 34]]],
    [
      'shop_days',
      'day is_open collected_cents',
      'where shop_id = 3',
      [
        ['2026-08-10', false, 0],
        ['2026-08-20', false, 700],
        [tomorrow.slice(0, 10), true, 0],
      ],
    ],
  ],
}

export const handmade = [whileClocksChange, periodsOfShops]

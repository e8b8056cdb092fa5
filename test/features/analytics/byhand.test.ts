/**
 * What everyday questions stumble over, computed by hand in both warehouses: clocks and zones that change within a
 * month, a shop without data, people of one name, and payments that come before their order, without one, or for one
 * that was deleted.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { ask } from '../../support/harness/views.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'
import { type Fields, order, payment, stamps, updated } from '../../support/world/handmade.js'

/** Clocks in Chicago go back on November 1 at 07:00 UTC: it is 01:30 there twice. */
const orders: readonly Fields[] = [
  order(1, '2026-11-01T06:30:00Z'),
  order(2, '2026-11-01T07:30:00Z'),
  order(3, '2026-11-02T05:59:59.999999Z', { customer_id: 2, technician_id: 2 }),
  order(4, '2026-11-01T04:59:59Z'),
  order(5, null),
  order(6, '2026-11-05T12:00:00Z', { customer_id: 3 }),
  order(7, '2026-11-05T12:00:00Z', { customer_id: 3 }),
  // In shop 2, whose zone the configuration changes.
  order(8, '2026-10-31T20:00:00Z', { shop_id: 2, technician_id: 2 }),
]

const payments: readonly Fields[] = [
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
]

const resources = ['repair_orders', 'payments', 'customers', 'staffs', 'shops']

describe.each(bothWarehouses())('$name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  const zones = { timeZone: 'UTC', shopTimeZones: { '101/1': 'America/Chicago', '101/2': 'America/Chicago' } }

  async function run(report: object = zones): Promise<void> {
    for (const job of [['sync'], ['reconcile', '--full']]) {
      const ended = await shopsync([...job, '--config', configure(sandbox, address, resources, { report })])
      expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    }
  }
  beforeAll(async () => {
    sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
    const { store } = sandbox
    for (const id of [1, 2, 3]) store.put(101, 'shops', { id, ...stamps(updated), name: 'Main Street' })
    for (const id of [1, 2, 3])
      store.put(101, 'customers', {
        id,
        ...stamps('2026-11-01T05:30:00Z'),
        first_name: 'Ann',
        last_name: 'Lee',
      })
    for (const id of [1, 2])
      store.put(101, 'staffs', { id, ...stamps(updated), first_name: 'Bo', last_name: 'Ray' })
    for (const one of orders) store.put(101, 'repair_orders', one)
    for (const one of payments) store.put(101, 'payments', one)
    address = await kind.viewed()
    await run()
    store.remove(101, 'repair_orders', 7)
    for (const id of [22, 23]) store.remove(101, 'payments', id)
    await run()
  })
  afterAll(() => sandbox.close())

  /** The values of these columns, numbers as numbers. */
  async function rows(view: string, columns: string, rest = ''): Promise<unknown[][]> {
    const warehouse = await reopen(address)
    const found = await ask(warehouse, view, `select ${columns.replaceAll(' ', ', ')} from {view} ${rest}`)
    await warehouse.close()
    const plain = (value: unknown): unknown =>
      typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value))
        ? Number(value)
        : value
    return found.map((row) => Object.values(row).map(plain))
  }

  it('clocks that change within a month show each instant once, on its own day', async () => {
    const closed = 'repair_order_id closed_on closed_at_local closed_hour picked_up_on picked_up_at_local'
    expect(await rows('orders', closed, 'where repair_order_id <= 4 order by repair_order_id')).toEqual([
      [1, '2026-11-01', '2026-11-01 01:30:00', 1, '2026-11-01', '2026-11-01 01:30:00'],
      [2, '2026-11-01', '2026-11-01 01:30:00', 1, '2026-11-01', '2026-11-01 01:30:00'],
      [3, '2026-11-01', '2026-11-01 23:59:59', 23, '2026-11-01', '2026-11-01 23:59:59'],
      [4, '2026-10-31', '2026-10-31 23:59:59', 23, '2026-10-31', '2026-10-31 23:59:59'],
    ])
    expect(
      await rows(
        'service_totals',
        'service_id completed_on completed_at_local',
        'where service_id <= 4 order by service_id',
      ),
    ).toEqual([
      [1, '2026-11-01', '2026-11-01 01:30:00'],
      [2, '2026-11-01', '2026-11-01 01:30:00'],
      [3, '2026-11-01', '2026-11-01 23:59:59'],
      [4, '2026-10-31', '2026-10-31 23:59:59'],
    ])
    // That day has 25 hours; the whole of it is one day of three invoices.
    expect(
      await rows(
        'daily_sales',
        'day invoices sales_cents',
        "where shop_id = 1 and day < '2026-11-05' order by day",
      ),
    ).toEqual([
      ['2026-10-31', 1, 10_000],
      ['2026-11-01', 3, 30_000],
    ])
    // Customers belong to no shop: the clock is that of report.timeZone.
    expect(
      await rows('dim_customers', 'customer_id entered_on entered_at_local', 'where customer_id = 1'),
    ).toEqual([[1, '2026-11-01', '2026-11-01 05:30:00']])
  })

  it('payments_ledger has a row for each payment, in the order in which they came', async () => {
    const columns =
      'payment_id paid_on paid_at_local closed_on is_deposit is_refund paid_so_far_cents settled_on days_to_pay'
    expect(await rows('payments_ledger', columns, 'order by payment_id')).toEqual([
      [11, '2026-10-19', '2026-10-19 10:00:00', '2026-11-01', true, false, 4000, null, null],
      [12, '2026-11-01', '2026-11-01 01:30:00', '2026-11-01', false, false, 10_000, '2026-11-01', 0],
      [13, '2026-11-03', '2026-11-03 23:30:00', '2026-11-01', false, false, 10_000, '2026-11-03', 2],
      [14, '2026-10-25', '2026-10-25 07:00:00', null, true, false, 500, null, null],
      // Without a shop, the clock is that of report.timeZone; a deleted order still tells its shop.
      [15, '2026-10-25', '2026-10-25 12:00:00', null, false, false, 10_000, null, null],
      [16, '2026-10-25', '2026-10-25 12:00:00', null, false, false, 10_000, null, null],
      [17, '2026-11-05', '2026-11-05 06:00:00', null, false, false, 10_000, null, null],
      [18, '2026-11-06', '2026-11-06 06:00:00', '2026-11-05', false, false, 7000, null, null],
      [19, '2026-11-06', '2026-11-06 06:00:00', '2026-11-05', false, false, 14_000, '2026-11-06', 1],
      [20, '2026-11-07', '2026-11-07 06:00:00', '2026-11-05', false, true, 10_000, null, null],
      [21, '2026-10-31', '2026-10-31 13:20:00', '2026-10-31', false, false, 10_000, '2026-10-31', 0],
    ])
    const gone = 'payment_id order_gone shop_id repair_order_key number state customer_key notes'
    expect(
      await rows('payments_ledger', gone, 'where payment_id between 14 and 17 order by payment_id'),
    ).toEqual([
      [14, false, 1, '101-5', 5, 'estimate', '101-1', ''],
      [15, true, null, null, null, null, null, ''],
      [16, true, null, '101-99', null, null, null, ''],
      [17, true, 1, '101-7', null, null, null, ''],
    ])
  })

  it('what was owed at the end of past months follows from closings and payments', async () => {
    const owed = 'month receivables_cents receivables_is_reckoned'
    // October: order 4. November: orders 2 and 4.
    expect(
      await rows('shop_months', owed, "where shop_id = 1 and month in ('2026-10', '2026-11') order by month"),
    ).toEqual([
      ['2026-10', 10_000, true],
      ['2026-11', 20_000, true],
    ])
    // Payments of that month were deleted since: what is left covers the order.
    expect(
      await rows('shop_months', `${owed} receivables_left_out`, "where shop_id = 2 and month = '2026-10'"),
    ).toEqual([['2026-10', 0, true, 1]])
  })

  it('a shop without data has a name and no first day, without a row anywhere else', async () => {
    expect(await rows('dim_shops', 'shop_id shop_name first_day', 'order by shop_id')).toEqual([
      [1, 'Main Street', '2026-10-31'],
      [2, 'Main Street', '2026-10-31'],
      [3, 'Main Street', null],
    ])
    for (const view of ['shop_months', 'shop_days', 'daily_sales', 'orders', 'payments_daily', 'receivables'])
      expect([view, await rows(view, 'shop_id', 'where shop_id = 3')]).toEqual([view, []])
    // Nor has a shop any row before the month in which it opened.
    expect(await rows('shop_months', 'month', "where shop_id = 2 and month < '2026-10'")).toEqual([])
  })

  it('people and shops of one name stay apart by their keys', async () => {
    expect(
      await rows(
        'customer_value',
        'customer_key customer_name visits invoices second_visit_on',
        'order by customer_key',
      ),
    ).toEqual([
      ['101-1', 'Ann Lee', 2, 4, '2026-11-01'],
      ['101-2', 'Ann Lee', 1, 1, null],
      ['101-3', 'Ann Lee', 1, 1, null],
    ])
    const hours = 'group by technician_key, technician_name order by technician_key'
    expect(await rows('technician_hours', 'technician_key technician_name sum(invoices)', hours)).toEqual([
      ['101-1', 'Bo Ray', 4],
      ['101-2', 'Bo Ray', 2],
    ])
    const shops = 'group by shop_key, shop_name order by shop_key nulls last'
    expect(await rows('payments_ledger', 'shop_key shop_name count(*)', shops)).toEqual([
      ['101-1', 'Main Street', 8],
      ['101-2', 'Main Street', 1],
      [null, null, 2],
    ])
  })

  it('a shop whose zone changes has all its days by the new one, in every view', async () => {
    await run({ ...zones, shopTimeZones: { ...zones.shopTimeZones, '101/2': 'Asia/Kathmandu' } })
    const closed = 'closed_on closed_at_local picked_up_at_local'
    expect(await rows('orders', closed, 'where shop_id = 2')).toEqual([
      ['2026-11-01', '2026-11-01 01:45:00', '2026-11-01 01:45:00'],
    ])
    expect(await rows('service_totals', 'completed_on completed_at_local', 'where shop_id = 2')).toEqual([
      ['2026-11-01', '2026-11-01 01:45:00'],
    ])
    // Half past midnight of the same day there, and the day before in Chicago.
    const paid = 'paid_on paid_at_local closed_on is_deposit settled_on days_to_pay'
    expect(await rows('payments_ledger', paid, 'where shop_id = 2')).toEqual([
      ['2026-11-01', '2026-11-01 00:05:00', '2026-11-01', false, '2026-11-01', 0],
    ])
    expect(await rows('dim_shops', 'first_day', 'where shop_id = 2')).toEqual([['2026-11-01']])
    expect(await rows('orders', 'closed_on', 'where repair_order_id = 3')).toEqual([['2026-11-01']])
  })
})

/**
 * Services and lines sum to their orders exactly, in a generated warehouse with discounts of both kinds. An order whose
 * discount has nothing that it could be taken from is left out: no service takes it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { prepareViews, query } from '../support/views.js'
import { open, warehouses } from '../support/warehouse.js'

const sandbox = await sandboxOfFile({
  tenants: 2,
  repairOrders: 250,
  seed: 14,
  until: '2026-11-01T12:00:00Z',
})

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })
  afterAll(() => warehouse.close())

  /** Orders of which these sums over another view differ. */
  const differing = (view: string, sums: Readonly<Record<string, string>>): Promise<unknown[]> =>
    query(
      warehouse,
      `select o.repair_order_key, ${Object.keys(sums).join(', ')} from {orders} o left join (
         select repair_order_key, ${Object.entries(sums)
           .map(([, own], i) => `sum(${own}) as s${i}`)
           .join(', ')}
         from {${view}} group by repair_order_key) s on s.repair_order_key = o.repair_order_key
       where (o.labor_cents <> 0 or o.labor_discount_cents = 0) and (o.parts_cents <> 0 or o.parts_discount_cents = 0)
         and (${Object.keys(sums)
           .map((whole, i) => `${whole} <> coalesce(s${i}, 0)`)
           .join(' or ')})`,
    )

  it('has orders with discounts of both kinds, over several services', async () => {
    const [found] = await query(
      warehouse,
      `select sum(case when o.labor_discount_cents > 0 and s.n > 1 then 1 else 0 end) as labor, sum(case when o.parts_discount_cents > 0 and s.n > 1 then 1 else 0 end) as parts
       from {orders} o join (select repair_order_key, count(*) as n from {service_totals} group by repair_order_key) s on s.repair_order_key = o.repair_order_key`,
    )
    expect(Number(found?.labor)).toBeGreaterThan(5)
    expect(Number(found?.parts)).toBeGreaterThan(5)
  })

  it('services sum to their orders', async () => {
    const names =
      'labor_cents labor_discount_cents parts_cents parts_discount_cents sublets_cents hazmats_cents sales_cents'
    const sums = Object.fromEntries(names.split(' ').map((name) => [`o.${name}`, name]))
    expect(await differing('service_totals', sums)).toEqual([])
    expect(
      await differing('service_totals', { 'o.parts_cost_cents + o.sublets_cost_cents': 'cost_cents' }),
    ).toEqual([])
  })

  it('lines sum to their orders', async () => {
    expect(
      await differing('order_lines', {
        'o.sales_cents': 'net_cents',
        'o.labor_discount_cents + o.parts_discount_cents': 'discount_cents',
        'o.parts_cost_cents + o.sublets_cost_cents': 'cost_cents',
        'o.lines_without_price': 'case when price_unknown then 1 else 0 end',
      }),
    ).toEqual([])
  })

  it('profits of services sum to those of orders where every one is known', async () => {
    const wrong = await query(
      warehouse,
      `select o.repair_order_key from {orders} o join (
         select repair_order_key, sum(gross_profit_cents) as profit, count(*) - count(gross_profit_cents) as unknown
         from {service_totals} group by repair_order_key) s on s.repair_order_key = o.repair_order_key
       where (o.labor_cents <> 0 or o.labor_discount_cents = 0) and (o.parts_cents <> 0 or o.parts_discount_cents = 0)
         and ((s.unknown = 0 and s.profit <> o.gross_profit_cents) or (s.unknown > 0) <> (o.gross_profit_cents is null))`,
    )
    expect(wrong).toEqual([])
  })

  it('days sum to their orders', async () => {
    const of = async (text: string): Promise<number[]> =>
      Object.values((await query(warehouse, text))[0] ?? {}).map(Number)
    const invoiced = "from {orders} where state = 'invoice'"
    expect(
      await of(
        'select sum(invoices) as n, sum(sales_cents) as s, sum(total_cents) as t, sum(paid_cents) as p from {daily_sales}',
      ),
    ).toEqual(
      await of(
        `select count(*) as n, sum(sales_cents) as s, sum(total_cents) as t, sum(paid_cents) as p ${invoiced}`,
      ),
    )
  })
})

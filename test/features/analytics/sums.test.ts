/**
 * Services and lines add up to their orders exactly, in a generated warehouse with discounts of both kinds: two tenants
 * whose ids collide, and orders that show the services and lines of others under the same ids.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { ask, prepareViews, query } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { beyond, showTwice } from '../../support/world/twice.js'

const sandbox = await sandboxOfFile({
  tenants: 2,
  repairOrders: 250,
  seed: 14,
  until: '2026-11-01T12:00:00Z',
})
const twins = showTwice(sandbox)

interface Line {
  readonly hours?: number | null
  readonly quantity?: number | null
  readonly quoted_price_cents?: number | null
  readonly fee_cents?: number | null
  readonly price_cents?: number | null
}

/** Billionths of a unit at this many cents each, rounded half away from zero; null if one is unknown. */
function amountOf(units: number | null | undefined, cents: number | null | undefined): number | null {
  if (units === 0) return 0
  if (units === null || units === undefined || cents === null || cents === undefined) return null
  const exact = BigInt(Math.round(units * 1e9)) * BigInt(cents)
  const size = ((exact < 0n ? -exact : exact) + 500_000_000n) / 1_000_000_000n
  return Number(exact < 0n ? -size : size)
}

/** The value of a recommendation, from the record as the API sends it. */
function worthOf(record: Record<string, unknown>): number | null {
  if (record.quick_price_cents !== null && record.quick_price_cents !== undefined)
    return Number(record.quick_price_cents)
  const service = record.service as Partial<Record<string, unknown>> | null
  if (!service?.id) return null
  const lines = (name: string): readonly Line[] => (service[name] as Line[] | undefined) ?? []
  const rate = service.labor_rate_cents as number | null
  const amounts = [
    ...lines('labors').map(({ hours }) => amountOf(hours, rate)),
    ...lines('parts').map(({ quantity, quoted_price_cents }) => amountOf(quantity, quoted_price_cents)),
    ...lines('hazmats').map(({ quantity, fee_cents }) => amountOf(quantity, fee_cents)),
    ...lines('sublets').map(({ price_cents }) => price_cents ?? null),
  ]
  return amounts.includes(null) ? null : amounts.reduce<number>((sum, cents) => sum + (cents ?? 0), 0)
}

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await reopen(await kind.viewed())
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })
  afterAll(() => warehouse.close())

  /** Orders for which these sums over another view differ. */
  const differing = (view: string, sums: Readonly<Record<string, string>>): Promise<unknown[]> =>
    query(
      warehouse,
      `select o.repair_order_key, ${Object.keys(sums).join(', ')} from {orders} o left join (
         select repair_order_key, ${Object.entries(sums)
           .map(([, own], i) => `sum(${own}) as s${i}`)
           .join(', ')}
         from {${view}} group by repair_order_key) s on s.repair_order_key = o.repair_order_key
       where (${Object.keys(sums)
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

  it('has services and lines that two orders show, and two tenants', async () => {
    expect(twins).toBeGreaterThan(100)
    for (const [view, id] of [
      ['service_totals', 'service_id'],
      ['order_lines', "kind || '-' || line_id"],
      ['parts_margin', 'part_id'],
    ]) {
      const owners = async (of: string): Promise<number> =>
        (await query(warehouse, `select 1 as n from {${view}} group by ${id}, ${of} having count(*) > 1`))
          .length
      expect(await owners('tenant_id')).toBeGreaterThan(5)
      expect(await owners('repair_order_id')).toBeGreaterThan(5)
    }
  })

  it('services and lines have their own keys, and lines lead to their services', async () => {
    for (const [view, key] of [
      ['service_totals', 'service_key'],
      ['order_lines', 'line_key'],
      ['parts_margin', 'part_key'],
    ])
      expect(
        await query(warehouse, `select ${key} from {${view}} group by ${key} having count(*) > 1`),
      ).toEqual([])
    const [line] = await ask(
      warehouse,
      'order_lines',
      `select tenant_id, repair_order_id, service_id, line_id, line_key, service_key from {view} where kind = 'part' and repair_order_id > ${beyond} limit 1`,
    )
    const owner = `${line?.tenant_id}-${line?.repair_order_id}`
    expect(line?.service_key).toBe(`${owner}-${line?.service_id}`)
    expect(line?.line_key).toBe(`part-${owner}-${line?.line_id}`)
    const lost = `select l.line_key from {order_lines} l left join {service_totals} s on s.service_key = l.service_key
      where s.service_key is null or s.repair_order_key <> l.repair_order_key`
    expect(await query(warehouse, lost)).toEqual([])
  })

  it('services add up to their orders', async () => {
    const names =
      'labor_cents labor_discount_cents parts_cents parts_discount_cents sublets_cents hazmats_cents sales_cents'
    const sums = Object.fromEntries(names.split(' ').map((name) => [`o.${name}`, name]))
    expect(await differing('service_totals', sums)).toEqual([])
    const nine = (hours: string): string => `cast(round(${hours} * 1e9) as bigint)`
    expect(
      await differing('service_totals', {
        'o.parts_cost_cents + o.sublets_cost_cents': 'cost_cents',
        [nine('o.rated_labor_hours')]: nine('rated_hours'),
      }),
    ).toEqual([])
  })

  it('lines add up to their orders', async () => {
    expect(
      await differing('order_lines', {
        'o.sales_cents': 'net_cents',
        'o.labor_discount_cents + o.parts_discount_cents': 'discount_cents',
        'o.parts_cost_cents + o.sublets_cost_cents': 'cost_cents',
        'o.lines_without_price': 'case when price_unknown then 1 else 0 end',
      }),
    ).toEqual([])
  })

  it('lines add up to the sales and taxes of their orders, except for what no line takes', async () => {
    const wrong = `select o.repair_order_key from {orders} o left join (
        select repair_order_key, sum(net_cents) as net, sum(tax_cents) as tax, count(*) - count(tax_cents) as unknown
        from {order_lines} group by repair_order_key) l on l.repair_order_key = o.repair_order_key
      where o.sales_cents <> coalesce(l.net, 0) - o.unshared_discount_cents
        or (o.tax_cents is not null and coalesce(l.unknown, 0) = 0 and o.tax_cents <> coalesce(l.tax, 0) + o.supply_fee_tax_cents)`
    expect(await query(warehouse, wrong)).toEqual([])
    const [found] = await query(
      warehouse,
      'select count(tax_cents) as known, sum(case when supply_fee_tax_cents > 0 then 1 else 0 end) as fees from {orders}',
    )
    expect(Number(found?.known)).toBeGreaterThan(100)
    expect(Number(found?.fees)).toBeGreaterThan(10)
  })

  it('parts add up to their invoices', async () => {
    const wrong = await query(
      warehouse,
      `select o.repair_order_key from {orders} o left join (
         select repair_order_key, sum(sold_cents) as sold, sum(cost_cents) as cost from {parts_margin} group by repair_order_key
       ) p on p.repair_order_key = o.repair_order_key
       where o.state = 'invoice' and (o.parts_cents <> coalesce(p.sold, 0) or o.parts_cost_cents <> coalesce(p.cost, 0))`,
    )
    expect(wrong).toEqual([])
  })

  it("technicians' hours add up to the invoices of their day", async () => {
    const sums = (hours: string, rated: string, from: string): Promise<unknown[]> =>
      query(
        warehouse,
        `select tenant_id, shop_id, cast(day as text) as day, cast(round(sum(${hours}) * 1e9) as bigint) as hours,
           cast(round(sum(${rated}) * 1e9) as bigint) as rated, sum(labor_cents) as cents
         from ${from} group by tenant_id, shop_id, day having sum(labor_cents) <> 0 or sum(${hours}) <> 0
         order by tenant_id, shop_id, day`,
      )
    const ofOrders = await sums(
      'labor_hours',
      'rated_labor_hours',
      "(select *, closed_on as day from {orders} where state = 'invoice') o",
    )
    expect(ofOrders.length).toBeGreaterThan(50)
    expect(await sums('sold_hours', 'rated_hours', '{technician_hours}')).toEqual(ofOrders)
  })

  it('a recommendation is worth its own lines', async () => {
    const rows = await ask(
      warehouse,
      'recommendation_conversion',
      'select tenant_id, recommendation_id, value_cents from {view}',
    )
    const found = new Map(rows.map((row) => [`${row.tenant_id}-${row.recommendation_id}`, row.value_cents]))
    const expected = sandbox.tenantIds.flatMap((tenant) =>
      sandbox.store
        .all(tenant, 'recommendations')
        .map((one) => [`${tenant}-${one.id}`, worthOf(one)] as const),
    )
    expect(
      expected.filter(([key, cents]) => Number(key.split('-')[1]) > beyond && cents !== null).length,
    ).toBeGreaterThan(5)
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  })

  it.each(['service_totals', 'order_lines'])(
    'profits of %s add up to those of orders if all are known',
    async (view) => {
      const wrong = await query(
        warehouse,
        `select o.repair_order_key from {orders} o join (
         select repair_order_key, sum(gross_profit_cents) as profit, count(*) - count(gross_profit_cents) as unknown
         from {${view}} group by repair_order_key) s on s.repair_order_key = o.repair_order_key
       where (s.unknown = 0 and s.profit <> o.gross_profit_cents) or (s.unknown > 0) <> (o.gross_profit_cents is null)`,
      )
      expect(wrong).toEqual([])
    },
  )

  it('days add up to their orders', async () => {
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

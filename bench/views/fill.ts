/**
 * A made-up business, written directly into a warehouse's tables with SQL that works in both databases: views.ts needs rows
 * to measure, not a source. The product itself then computes the totals.
 */
import { sql } from 'kysely'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'

const tenants = [101, 102, 103, 104]
const shops = 3
const days = 730

/** Rows of one table: how many per tenant, and its columns as a select list over `t` (the tenant) and `i` (from 1). */
type Filling = readonly [table: string, rows: number, columns: string]

/** A number from 0 to `below` - 1 that looks random but is the same each time. */
const chance = (below: number, seed: number): string =>
  `((i * 7919 + t * 104729 + ${seed} * 15485863) % 1000003 % ${below})`

/** The canonical text of an instant on the nth day, between 8 and 17 o'clock in Chicago. */
const instantText = (days: string, day: string, seed: number): string =>
  `(select d.day from ${days} d where d.n = ${day}) || 'T' || (14 + ${chance(9, seed)}) || ':' || (10 + ${chance(50, seed + 1)}) || ':00.000000Z'`

/** `calendar`: the table of the days. `instant`: an instant from its canonical text. */
function fillings(orders: number, calendar: string, instant: (text: string) => string): Filling[] {
  const at = (day: string, seed: number): string => instant(instantText(calendar, day, seed))
  const synced = instant("'2026-01-01T00:00:00.000000Z'")
  const updated = `${at(`i % ${days}`, 2)} as updated_at, ${synced} as _synced_at`
  const created = (at: string): string => `i as id, ${at} as created_at, ${updated}`
  const own = created(at(`i % ${days}`, 1))
  const ofService = (service: string): string =>
    `${own}, (${service} + 2) / 3 as repair_order_id, ${service} as service_id, i % 4 as position`
  const shop = `1 + i % ${shops} as shop_id`
  const orderDay = `i * ${days - 40} / ${orders}`
  const state = `case when i > ${orders} * 97 / 100 then 'in_progress' when i % 20 = 0 then 'estimate' else 'invoice' end`
  const whenNot = (words: string, value: string): string =>
    `case when ${state} in (${words}) then null else ${value} end`
  const open = "'estimate', 'in_progress'"
  const part = (share: number): number => Math.floor(orders * share)
  return [
    ['shops', shops, `${own}, '{"name":"Shop"}' as _extra, 'Shop' as _name`],
    ['staffs', 30, `${own}, 'Ada' as first_name, 'Ada' as _name`],
    ['vehicles', part(1 / 2), `${own}, '{"name":"2016 Ford F-150"}' as _extra, '2016 Ford F-150' as _name`],
    [
      'customers',
      part(1 / 2.5),
      `${own}, 'Grace' as first_name, 'Hopper' as last_name, 'Grace Hopper' as _name`,
    ],
    [
      'repair_orders',
      orders,
      `${created(at(orderDay, 3))}, 1000 + i as number, ${state} as state, ${shop},
       1 + ${chance(part(1 / 2.5), 4)} as customer_id, 1 + ${chance(part(1 / 2), 5)} as vehicle_id,
       1 + ${chance(20, 6)} as technician_id, 21 + ${chance(10, 7)} as advisor_id,
       case when i % 8 = 0 then 1500 end as labor_discount_cents,
       case when i % 9 = 0 then 7.5 end as part_discount_percentage,
       ${whenNot("'estimate'", at(`${orderDay} + 1`, 8))} as started_at,
       ${whenNot(open, at(`${orderDay} + 3`, 9))} as closed_at,
       ${whenNot(open, at(`${orderDay} + 4`, 10))} as picked_up_at, ${at(`${orderDay} + 3`, 11)} as due_out_at,
       8.25 as part_tax_rate, 0 as labor_tax_rate, 0 as sublet_tax_rate, 8.25 as hazmat_tax_rate,
       (i % 30 > 0) as taxable, 'Repeat' as customer_source,
       case when i % 50 = 0 then null else 599 end as supply_fee_cents,
       case when i % 200 = 0 then ${synced} end as _deleted_at`,
    ],
    [
      'repair_order_services',
      orders * 3,
      `${own}, (i + 2) / 3 as repair_order_id, i % 3 as position, 'Front brakes' as title,
       (i % 2 = 0) as completed, 12500 as labor_rate_cents, 1 + ${chance(6, 12)} as category_id`,
    ],
    [
      'repair_order_labors',
      orders * 4,
      `${ofService('((i - 1) * 3 / 4 + 1)')}, 'Replace pads and rotors' as name,
       1 + ${chance(20, 13)} as technician_id, (i % 3 > 0) as taxable, ${chance(30, 14)} * 0.1 as hours`,
    ],
    [
      'repair_order_parts',
      orders * 6,
      `${ofService('((i + 1) / 2)')}, 'Bosch' as brand, 'Ceramic brake pad set' as description,
       1999 + ${chance(20_000, 15)} as quoted_price_cents,
       case when i % 100 = 0 then null else 999 + ${chance(9000, 16)} end as cost_cents,
       1 + ${chance(2400, 17)} as part_inventory_id, (1 = 1) as taxable, 1 + ${chance(4, 18)} as quantity`,
    ],
    [
      'repair_order_hazmats',
      orders,
      `${ofService('(i * 3)')}, 'Brake fluid disposal' as name, 350 as fee_cents, (1 = 1) as taxable, 1 as quantity`,
    ],
    [
      'repair_order_sublets',
      part(1 / 5),
      `${ofService('(i * 15)')}, 9900 as price_cents, 6400 as cost_cents, (1 = 1) as taxable, 1 as vendor_id`,
    ],
    [
      'repair_order_inspections',
      orders * 6,
      `${ofService('((i + 1) / 2)')}, 'Rotor' as name, 'green' as state`,
    ],
    [
      'repair_order_payments',
      orders,
      `i as repair_order_id, 0 as position, 20000 + ${chance(90_000, 19)} as amount_cents, ${synced} as _synced_at`,
    ],
    [
      'payments',
      orders,
      `${created(at(`${orderDay} + 3`, 20))}, i as repair_order_id, 20000 + ${chance(90_000, 19)} as amount_cents,
       case when i % 3 = 0 then 'Cash' else 'Credit Card' end as payment_type_details_type`,
    ],
    [
      'payment_transactions',
      part(0.7),
      `${created(at(`${orderDay} + 3`, 21))}, i as repair_order_id, 'HSN-1' as serial_number,
       case when i % 15 = 0 then 'declined' else 'approved' end as status,
       20000 as requested_amount_cents, 20000 as amount_cents`,
    ],
    [
      'appointments',
      part(0.7),
      `${own}, 1 + ${chance(20, 22)} as staff_id, i as repair_order_id, ${shop},
       ${at(orderDay, 23)} as start_at, ${at(`${orderDay} + 1`, 23)} as end_at`,
    ],
    [
      'inventories',
      2400,
      `${own}, 'Bosch' as brand, 999 + ${chance(9000, 24)} as cost_cents, ${shop},
       ${chance(12, 25)} as quantity_on_hand, 2 as min_stock, 0 as quantity_ordered_for_stock`,
    ],
    [
      'purchase_records',
      part(1 / 3),
      `${created(at(`i * 3 * ${days - 40} / ${orders}`, 26))}, ${shop}, 1 + ${chance(8, 27)} as vendor_id,
       (i % 12 = 0) as is_return`,
    ],
    [
      'purchase_record_line_items',
      orders,
      `(i + 2) / 3 as purchase_record_id, (i + 2) % 3 as position, 1 + ${chance(2400, 28)} as inventory_id,
       1 + ${chance(8, 29)} as quantity, 999 + ${chance(9000, 30)} as cost_cents, ${synced} as _synced_at`,
    ],
    [
      'recommendations',
      part(0.8),
      `${created(at(orderDay, 31))}, case when i % 3 = 0 then null else (i % 3 = 1) end as approved,
       (i % 3 = 1) as imported, case when i % 5 = 0 then 8900 end as quick_price_cents, i as repair_order_id`,
    ],
    [
      'recommendation_services',
      part(0.8),
      `${own}, i as recommendation_id, 0 as position, 'Rear brakes' as title, 12500 as labor_rate_cents`,
    ],
    [
      'recommendation_labors',
      part(0.8),
      `${own}, i as recommendation_id, i as service_id, 0 as position, 1.5 as hours, (1 = 1) as taxable`,
    ],
    [
      'recommendation_parts',
      part(1.6),
      `${own}, (i + 1) / 2 as recommendation_id, (i + 1) / 2 as service_id, i % 2 as position,
       1999 + ${chance(20_000, 32)} as quoted_price_cents, 999 as cost_cents, 2 as quantity, (1 = 1) as taxable`,
    ],
    [
      'past_recommendations',
      part(0.25),
      `${own}, i * 3 as recommendation_id, (i % 4 = 0) as imported, (i % 4 = 0) as done, i as vehicle_id`,
    ],
  ]
}

/** The days before today, newest last. */
const dayRows = (): string =>
  Array.from({ length: days + 10 }, (_, n) => {
    const day = new Date(Date.now() - (days - n) * 86_400_000).toISOString().slice(0, 10)
    return `(${n}, '${day}')`
  }).join(', ')

export const run = async (warehouse: Warehouse, text: string): Promise<unknown> =>
  (await sql.raw(text).execute(warehouse.db)).rows

/** Fills a warehouse, whose tables and views were made. `orders`: of each tenant. Returns the number of rows. */
export async function fill(warehouse: Warehouse, orders: number): Promise<number> {
  const isSqlite = warehouse.where.startsWith('sqlite:')
  const { table } = warehouse.dialect.views().sql
  const [numbers, calendar, owners] = ['bench_numbers', 'bench_days', 'bench_tenants'].map(table)
  const all = fillings(orders, calendar ?? '', (text) => (isSqlite ? `(${text})` : `(${text})::timestamptz`))
  for (const text of [
    `create table ${numbers} as with recursive n (i) as (select cast(1 as bigint) union all select i + 1 from n where i < ${orders * 6}) select i from n`,
    `create table ${calendar} (n integer primary key, day text not null)`,
    `insert into ${calendar} values ${dayRows()}`,
    `create table ${owners} (t integer primary key)`,
    `insert into ${owners} values ${tenants.map((tenant) => `(${tenant})`).join(', ')}`,
    `insert into ${table('tenants')} (tenant_id) select t from ${owners}`,
  ])
    await run(warehouse, text)
  for (const [name, rows, columns] of all) {
    const names = [...columns.matchAll(/ as (\w+)(?=,|$)/g)].map(([, column]) => column)
    const from = `${owners} cross join ${numbers} where i <= ${rows}`
    await run(
      warehouse,
      `insert into ${table(name)} (tenant_id, ${names.join(', ')}) select t, ${columns} from ${from}`,
    )
  }
  return all.reduce((sum, [, rows]) => sum + rows * tenants.length, 0)
}

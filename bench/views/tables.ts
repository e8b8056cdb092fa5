/** The contents of a made-up business: the rows of each table as SQL over the row number. Used by fill.ts. */

/** Rows of one table: how many per tenant, and each column as SQL over `t` (the tenant) and `i` (from 1). */
export interface Filling {
  readonly table: string
  readonly rows: number
  readonly columns: Readonly<Record<string, string>>
}

/** What differs in the SQL of one database. */
export interface Spelling {
  /** An instant from its canonical text. */
  instant(text: string): string
}

const shops = 3
export const days = 730

/** A number from 0 to `below` - 1 that looks random but is the same each time. */
const chance = (below: number, seed: number, i = 'i'): string =>
  `((${i} * 7919 + t * 104729 + ${seed} * 15485863) % 1000003 % ${below})`

/** The canonical text of an instant on the nth day, between 8 and 17 o'clock in Chicago. */
const instantText = (day: string, seed: number): string =>
  `(select d.day from bench_days d where d.n = ${day}) || 'T' || (14 + ${chance(9, seed)}) || ':' || (10 + ${chance(50, seed + 1)}) || ':00.000000Z'`

/** Every table's rows for this many repair orders per tenant. */
export function fillings(orders: number, { instant }: Spelling): Filling[] {
  const at = (day: string, seed: number): string => instant(instantText(day, seed))
  const stamps = { created_at: at(`i % ${days}`, 1), updated_at: at(`i % ${days}`, 2) }
  const synced = { _synced_at: instant("'2026-01-01T00:00:00.000000Z'") }
  const own = { id: 'i', ...stamps, ...synced }
  const serviceOf = { repair_order_id: '(i + 2) / 3' }
  const ofService = (service: string) => ({
    repair_order_id: `(${service} + 2) / 3`,
    service_id: service,
    position: 'i % 4',
  })
  const shop = `1 + i % ${shops}`
  const orderDay = `i * ${days - 40} / ${orders}`
  const state = `case when i > ${orders} * 97 / 100 then 'in_progress' when i % 20 = 0 then 'estimate' else 'invoice' end`
  const whenNot = (words: string, value: string): string =>
    `case when ${state} in (${words}) then null else ${value} end`
  return [
    { table: 'shops', rows: shops, columns: { ...own, _extra: `'{"name":"Shop"}'`, _name: "'Shop'" } },
    { table: 'staffs', rows: 30, columns: { ...own, first_name: "'Ada'", _name: "'Ada'" } },
    {
      table: 'vehicles',
      rows: Math.floor(orders / 2),
      columns: { ...own, _extra: `'{"name":"2016 Ford F-150"}'`, _name: "'2016 Ford F-150'" },
    },
    {
      table: 'customers',
      rows: Math.floor(orders / 2.5),
      columns: { ...own, first_name: "'Grace'", last_name: "'Hopper'", _name: "'Grace Hopper'" },
    },
    {
      table: 'repair_orders',
      rows: orders,
      columns: {
        ...own,
        created_at: at(orderDay, 3),
        number: '1000 + i',
        state,
        customer_id: `1 + ${chance(Math.floor(orders / 2.5), 4)}`,
        vehicle_id: `1 + ${chance(Math.floor(orders / 2), 5)}`,
        technician_id: `1 + ${chance(20, 6)}`,
        advisor_id: `21 + ${chance(10, 7)}`,
        shop_id: shop,
        labor_discount_cents: 'case when i % 8 = 0 then 1500 end',
        part_discount_percentage: 'case when i % 9 = 0 then 7.5 end',
        started_at: whenNot("'estimate'", at(`${orderDay} + 1`, 8)),
        closed_at: whenNot("'estimate', 'in_progress'", at(`${orderDay} + 3`, 9)),
        picked_up_at: whenNot("'estimate', 'in_progress'", at(`${orderDay} + 4`, 10)),
        due_out_at: at(`${orderDay} + 3`, 11),
        part_tax_rate: '8.25',
        labor_tax_rate: '0',
        sublet_tax_rate: '0',
        hazmat_tax_rate: '8.25',
        taxable: '(i % 30 > 0)',
        customer_source: "'Repeat'",
        supply_fee_cents: 'case when i % 50 = 0 then null else 599 end',
        _deleted_at: `case when i % 200 = 0 then ${synced._synced_at} end`,
      },
    },
    {
      table: 'repair_order_services',
      rows: orders * 3,
      columns: {
        ...own,
        ...serviceOf,
        position: 'i % 3',
        title: "'Front brakes'",
        completed: '(i % 2 = 0)',
        labor_rate_cents: '12500',
        category_id: `1 + ${chance(6, 12)}`,
      },
    },
    {
      table: 'repair_order_labors',
      rows: orders * 4,
      columns: {
        ...own,
        ...ofService('((i - 1) * 3 / 4 + 1)'),
        name: "'Replace pads and rotors'",
        technician_id: `1 + ${chance(20, 13)}`,
        taxable: '(i % 3 > 0)',
        hours: `${chance(30, 14)} * 0.1`,
      },
    },
    {
      table: 'repair_order_parts',
      rows: orders * 6,
      columns: {
        ...own,
        ...ofService('((i + 1) / 2)'),
        brand: "'Bosch'",
        description: "'Ceramic brake pad set'",
        quoted_price_cents: `1999 + ${chance(20_000, 15)}`,
        cost_cents: `case when i % 100 = 0 then null else 999 + ${chance(9000, 16)} end`,
        part_inventory_id: `1 + ${chance(2400, 17)}`,
        taxable: '(1 = 1)',
        quantity: `1 + ${chance(4, 18)}`,
      },
    },
    {
      table: 'repair_order_hazmats',
      rows: orders,
      columns: {
        ...own,
        ...ofService('(i * 3)'),
        name: "'Brake fluid disposal'",
        fee_cents: '350',
        taxable: '(1 = 1)',
        quantity: '1',
      },
    },
    {
      table: 'repair_order_sublets',
      rows: Math.floor(orders / 5),
      columns: {
        ...own,
        ...ofService('(i * 15)'),
        price_cents: '9900',
        cost_cents: '6400',
        taxable: '(1 = 1)',
        vendor_id: '1',
      },
    },
    {
      table: 'repair_order_inspections',
      rows: orders * 6,
      columns: { ...own, ...ofService('((i + 1) / 2)'), name: "'Rotor'", state: "'green'" },
    },
    {
      table: 'repair_order_payments',
      rows: orders,
      columns: {
        repair_order_id: 'i',
        position: '0',
        amount_cents: `20000 + ${chance(90_000, 19)}`,
        ...synced,
      },
    },
    {
      table: 'payments',
      rows: orders,
      columns: {
        ...own,
        created_at: at(`${orderDay} + 3`, 20),
        repair_order_id: 'i',
        payment_type_details_type: `case when i % 3 = 0 then 'Cash' else 'Credit Card' end`,
        amount_cents: `20000 + ${chance(90_000, 19)}`,
      },
    },
    {
      table: 'payment_transactions',
      rows: Math.floor(orders * 0.7),
      columns: {
        ...own,
        created_at: at(`${orderDay} + 3`, 21),
        repair_order_id: 'i',
        status: `case when i % 15 = 0 then 'declined' else 'approved' end`,
        serial_number: "'HSN-1'",
        requested_amount_cents: '20000',
        amount_cents: '20000',
      },
    },
    {
      table: 'appointments',
      rows: Math.floor(orders * 0.7),
      columns: {
        ...own,
        staff_id: `1 + ${chance(20, 22)}`,
        start_at: at(orderDay, 23),
        end_at: at(`${orderDay} + 1`, 23),
        repair_order_id: 'i',
        shop_id: shop,
      },
    },
    {
      table: 'inventories',
      rows: 2400,
      columns: {
        ...own,
        brand: "'Bosch'",
        cost_cents: `999 + ${chance(9000, 24)}`,
        quantity_on_hand: chance(12, 25),
        min_stock: '2',
        quantity_ordered_for_stock: '0',
        shop_id: shop,
      },
    },
    {
      table: 'purchase_records',
      rows: Math.floor(orders / 3),
      columns: {
        ...own,
        created_at: at(`i * 3 * ${days - 40} / ${orders}`, 26),
        shop_id: shop,
        vendor_id: `1 + ${chance(8, 27)}`,
        is_return: '(i % 12 = 0)',
      },
    },
    {
      table: 'purchase_record_line_items',
      rows: orders,
      columns: {
        purchase_record_id: '(i + 2) / 3',
        position: '(i + 2) % 3',
        inventory_id: `1 + ${chance(2400, 28)}`,
        quantity: `1 + ${chance(8, 29)}`,
        cost_cents: `999 + ${chance(9000, 30)}`,
        ...synced,
      },
    },
    {
      table: 'recommendations',
      rows: Math.floor(orders * 0.8),
      columns: {
        ...own,
        created_at: at(orderDay, 31),
        approved: 'case when i % 3 = 0 then null else (i % 3 = 1) end',
        imported: '(i % 3 = 1)',
        quick_price_cents: 'case when i % 5 = 0 then 8900 end',
        repair_order_id: 'i',
      },
    },
    {
      table: 'recommendation_services',
      rows: Math.floor(orders * 0.8),
      columns: {
        ...own,
        recommendation_id: 'i',
        position: '0',
        title: "'Rear brakes'",
        labor_rate_cents: '12500',
      },
    },
    {
      table: 'recommendation_labors',
      rows: Math.floor(orders * 0.8),
      columns: {
        ...own,
        recommendation_id: 'i',
        service_id: 'i',
        position: '0',
        hours: '1.5',
        taxable: '(1 = 1)',
      },
    },
    {
      table: 'recommendation_parts',
      rows: Math.floor(orders * 1.6),
      columns: {
        ...own,
        recommendation_id: '(i + 1) / 2',
        service_id: '(i + 1) / 2',
        position: 'i % 2',
        quoted_price_cents: `1999 + ${chance(20_000, 32)}`,
        cost_cents: '999',
        quantity: '2',
        taxable: '(1 = 1)',
      },
    },
    {
      table: 'past_recommendations',
      rows: Math.floor(orders * 0.25),
      columns: {
        ...own,
        recommendation_id: 'i * 3',
        imported: '(i % 4 = 0)',
        done: '(i % 4 = 0)',
        vehicle_id: 'i',
      },
    },
  ]
}

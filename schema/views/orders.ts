import { col, common, defineView, takes } from '../view.js'

/** Columns of repair_order_totals. */
const ofTotals = [
  'repair_order_key',
  'closed_on',
  'tenant_id',
  'shop_id',
  'repair_order_id',
  'number',
  'state',
  'status_id',
  'created_on',
  'started_on',
  'picked_up_on',
  'customer_id',
  'customer_source',
  'vehicle_id',
  'technician_id',
  'advisor_id',
  'labor_hours',
  'rated_labor_hours',
  'labor_cents',
  'labor_discount_cents',
  'parts_cents',
  'parts_discount_cents',
  'sublets_cents',
  'hazmats_cents',
  'sales_cents',
  'supply_fee_cents',
  'labor_tax_cents',
  'parts_tax_cents',
  'sublets_tax_cents',
  'hazmats_tax_cents',
  'tax_cents',
  'total_cents',
  'parts_cost_cents',
  'sublets_cost_cents',
  'gross_profit_cents',
  'paid_cents',
  'payments',
  'balance_cents',
  'minutes_to_start',
  'minutes_in_work',
  'minutes_to_pick_up',
  'lines_without_price',
  'lines_without_cost',
  'lines_in_quarantine',
  'supply_fee_unknown',
  'discount_exceeds_gross',
  'fixed_price_ignored',
  'total_unknown',
  'supply_fee_tax_cents',
  'unshared_discount_cents',
  'created_at_local',
  'closed_at_local',
  'exempt_sales_cents',
  'taxable_sales_cents',
  'untaxed_sales_cents',
  'started_at_local',
  'picked_up_at_local',
  'due_in_on',
  'due_in_at_local',
  'due_out_on',
  'due_out_at_local',
  'updated_at_local',
  'minutes_to_close',
  'inspections_red',
  'inspections_yellow',
  'inspections_green',
] as const

/**
 * Of invoices closed on the same day, the one that was closed first counts as earlier; of the same instant, the one
 * with the lower id. Two shops may be in different zones, so their clocks don't decide.
 */
const isEarlierThatDay = `b.closed_on = t.closed_on and (b.closed_at < t.closed_at
      or (b.closed_at = t.closed_at and b.repair_order_id < t.repair_order_id))`

const isFirstVisit = `case when t.state = 'invoice' and t.customer_id is not null and t.closed_on is not null then not exists (
  select 1 from {repair_order_totals} b
  where b.tenant_id = t.tenant_id and b.customer_id = t.customer_id and b.state = 'invoice' and b._deleted_at is null
    and (b.closed_on < t.closed_on or (${isEarlierThatDay}))) end`

export default defineView({
  name: 'orders',
  doc: "Repair orders with totals, names, and days in the shop's time zone. Start with this view.",
  grain: 'one repair order that exists at the source',
  columns: {
    repair_order_key: col.text.unique('Key of the repair order: TENANT-ID. Unique.'),
    closed_on: col.day("The day it was closed and became an invoice, in the shop's time zone; null before."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    number: col.integer('The order number people use.'),
    state: col.text('`estimate`, `in_progress` or `invoice`.'),
    status_id: col.id('Its status.'),
    status_name: col.text('Name of the status, from report.names; otherwise `status 4`.'),
    label: col.text('Text of its label.', { personal: true }),
    created_on: col.day("The day it was created, in the shop's time zone."),
    started_on: col.day("The day work began, in the shop's time zone; null for estimates."),
    picked_up_on: col.day(
      "The day the vehicle was picked up, in the shop's time zone; null while it is there.",
    ),
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text(
      'Company; otherwise the first and last name of the customer; otherwise `customer 5`.',
      { personal: true },
    ),
    customer_source: col.text('Marketing source of the customer.'),
    vehicle_id: col.id('The vehicle.'),
    vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
    vehicle_name: col.text('Name of the vehicle, from report.names; otherwise `vehicle 17`.', {
      personal: true,
    }),
    technician_id: col.id('The assigned technician.'),
    technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID (staff_key of dim_staffs).'),
    technician_name: col.text('Name of the technician; otherwise `staff 9`.', { personal: true }),
    advisor_id: col.id('The service advisor.'),
    advisor_key: col.key('dim_staffs', 'Key of the service advisor: TENANT-ID (staff_key of dim_staffs).'),
    advisor_name: col.text('Name of the service advisor; otherwise `staff 9`.', { personal: true }),
    labor_hours: col.hours('Hours of labor sold.'),
    rated_labor_hours: col.hours('Hours of lines whose service has a labor rate.'),
    labor_cents: col.cents.always('Labor, before its discount.'),
    labor_discount_cents: col.cents.always('Discount on labor.'),
    parts_cents: col.cents.always('Parts, before their discount.'),
    parts_discount_cents: col.cents.always('Discount on parts.'),
    sublets_cents: col.cents.always('Sublets.'),
    hazmats_cents: col.cents.always('Hazardous materials and fees.'),
    sales_cents: col.cents.always(
      'Labor, parts, sublets and hazmats minus discounts, before supply fee and taxes. Never null.',
    ),
    supply_fee_cents: col.cents(
      "Shop supplies fee; null if the shop's settings decide it, which the API does not show.",
    ),
    labor_tax_cents: col.cents('Tax on labor; null if unknown.'),
    parts_tax_cents: col.cents('Tax on parts and the supply fee; null if unknown.'),
    sublets_tax_cents: col.cents('Tax on sublets; null if unknown.'),
    hazmats_tax_cents: col.cents('Tax on hazmats; null if unknown.'),
    tax_cents: col.cents('All taxes; null if any of them is unknown.'),
    total_cents: col.cents('Sales, supply fee and taxes; null if any part is unknown (total_unknown).'),
    parts_cost_cents: col.cents.always('Known cost of the parts.'),
    sublets_cost_cents: col.cents.always('Known cost of the sublets.'),
    gross_profit_cents: col.cents(
      "Sales minus the cost of parts and sublets, before technicians' pay; null if a cost or price is missing.",
    ),
    paid_cents: col.cents.always('Payments on the order.'),
    payments: col.count.always('Number of payments.'),
    balance_cents: col.cents('Total minus payments; null if the total is unknown.'),
    minutes_to_start: col.minutes(
      'Whole minutes from creation to the start of work; null if either time is missing.',
    ),
    minutes_in_work: col.minutes(
      'Whole minutes from the start of work to closing; null if either time is missing.',
    ),
    minutes_to_pick_up: col.minutes('Whole minutes from closing to pick-up; null if either time is missing.'),
    lines_without_price: col.count.always(
      'Lines with missing hours, quantity or price. They count as 0 here.',
    ),
    lines_without_cost: col.count.always('Parts and sublets whose cost is missing.'),
    lines_in_quarantine: col.count.always('Items that could not be stored. They are in no sum.'),
    supply_fee_unknown: col.boolean.always('Whether the supply fee, and so the total, is unknown.'),
    discount_exceeds_gross: col.boolean.always(
      'Whether a discount, as sent, is larger than the amount it applies to. It counts as that amount.',
    ),
    fixed_price_ignored: col.boolean.always('Whether a service has a fixed price, which these sums ignore.'),
    total_unknown: col.boolean.always('Whether the total is unknown.'),
    created_at: col.timestamp('When it was created.'),
    started_at: col.timestamp('When work began.'),
    closed_at: col.timestamp('When it was closed.'),
    picked_up_at: col.timestamp('When the vehicle was picked up.'),
    due_out_at: col.timestamp('When the vehicle was due.'),
    taxable: col.boolean(
      "Whether the order is taxed at all. If false, all four taxes are 0, whatever its lines say; null if the API doesn't say.",
    ),
    labor_tax_rate: col.number('Tax rate on labor, as the API sends it (report.taxRates sets the unit).'),
    part_tax_rate: col.number('Tax rate on parts and the supply fee, as the API sends it.'),
    sublet_tax_rate: col.number('Tax rate on sublets, as the API sends it.'),
    hazmat_tax_rate: col.number('Tax rate on hazmats, as the API sends it.'),
    supply_fee_tax_cents: col.cents(
      'The part of parts_tax_cents that is on the supply fee rather than on a line; null if parts_tax_cents is.',
    ),
    unshared_discount_cents: col.cents.always(
      'Discounts below 0 (surcharges) that no line carries, because the lines they apply to total 0. Almost always 0.',
    ),
    created_at_local: col.text("When it was created, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    closed_at_local: col.text("When it was closed, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    closed_hour: col.integer("The hour it was closed, in the shop's local time, 0 to 23."),
    exempt_sales_cents: col.cents(
      "Sales marked as not taxable: lines that are not taxable, and all lines of orders that are not; null if the order doesn't say. Without what is taxable at a rate of 0, which `untaxed_sales_cents` includes.",
    ),
    is_first_visit: col.boolean(
      "Whether it is the customer's first invoice: of those closed on the first day, the one that was closed first; null if it isn't an invoice or has no customer.",
    ),
    taxable_sales_cents: col.cents(
      'Sales that are taxed at a rate above 0, with the supply fee if parts are; null if unknown.',
    ),
    untaxed_sales_cents: col.cents(
      'Sales and supply fee on which there is no tax, because the line or order is not taxable or the rate is 0; null if unknown.',
    ),
    started_at_local: col.text("When work began, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    picked_up_at_local: col.text(
      "When the vehicle was picked up, in the shop's local time: YYYY-MM-DD HH:MM:SS.",
    ),
    due_in_on: col.day("The day the vehicle is to be dropped off, in the shop's time zone."),
    due_in_at: col.timestamp('When the vehicle is to be dropped off.'),
    due_in_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    due_out_on: col.day("The day the vehicle is to be picked up, in the shop's time zone."),
    due_out_at_local: col.text(
      "When the vehicle is to be picked up, in the shop's local time: YYYY-MM-DD HH:MM:SS.",
    ),
    odometer: col.integer('Odometer reading at drop-off, as the API sends it.', { unit: 'as sent' }),
    odometer_out: col.integer('Odometer reading at pick-up, as the API sends it.', { unit: 'as sent' }),
    updated_at: col.timestamp.always('When it was last changed at the source.'),
    updated_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    sales_where_profit_known_cents: col.cents.always(
      '`sales_cents` if the gross profit is known, otherwise 0. A margin divides `gross_profit_cents` by this.',
    ),
    minutes_to_close: col.minutes('Whole minutes from creation to closing; null if either time is missing.'),
    inspections_red: col.count.always('Its inspections whose result is `red`.'),
    inspections_yellow: col.count.always('Its inspections whose result is `yellow`.'),
    inspections_green: col.count.always('Its inspections whose result is `green`. Others are unchecked.'),
  },
  example: `select closed_on, shop_key, shop_name, count(*) as invoices, sum(sales_cents) as sales_cents
from orders
where state = 'invoice'
group by closed_on, shop_key, shop_name
order by closed_on desc, shop_name, shop_key
limit 20`,
  build: (q) => ({
    select: {
      ...takes('t', ...ofTotals),
      ...takes('o', 'created_at', 'started_at', 'closed_at', 'picked_up_at', 'due_out_at', 'taxable'),
      ...takes('o', 'due_in_at', 'odometer', 'odometer_out', 'updated_at'),
      ...takes('o', 'labor_tax_rate', 'part_tax_rate', 'sublet_tax_rate', 'hazmat_tax_rate'),
      sales_where_profit_known_cents: 'case when t.gross_profit_cents is null then 0 else t.sales_cents end',
      label: 'o.label_text',
      closed_hour: 'cast(substr(t.closed_at_local, 12, 2) as bigint)',
      is_first_visit: isFirstVisit,
      tenant_name: q.tenantName('t.tenant_id'),
      shop_key: q.key('t.tenant_id', 't.shop_id'),
      shop_name: q.name('shops', 's', 't.shop_id'),
      status_name: q.name('statuses', 'u', 't.status_id'),
      customer_key: q.key('t.tenant_id', 't.customer_id'),
      customer_name: q.name('customers', 'c', 't.customer_id'),
      vehicle_key: q.key('t.tenant_id', 't.vehicle_id'),
      vehicle_name: q.name('vehicles', 'v', 't.vehicle_id'),
      technician_key: q.key('t.tenant_id', 't.technician_id'),
      technician_name: q.name('staffs', 'e', 't.technician_id'),
      advisor_key: q.key('t.tenant_id', 't.advisor_id'),
      advisor_name: q.name('staffs', 'a', 't.advisor_id'),
    },
    from: `{repair_order_totals} t
left join {repair_orders} o on o.tenant_id = t.tenant_id and o.id = t.repair_order_id
left join {shops} s on s.tenant_id = t.tenant_id and s.id = t.shop_id
left join {statuses} u on u.tenant_id = t.tenant_id and u.id = t.status_id
left join {customers} c on c.tenant_id = t.tenant_id and c.id = t.customer_id
left join {vehicles} v on v.tenant_id = t.tenant_id and v.id = t.vehicle_id
left join {staffs} e on e.tenant_id = t.tenant_id and e.id = t.technician_id
left join {staffs} a on a.tenant_id = t.tenant_id and a.id = t.advisor_id
where t._deleted_at is null`,
  }),
})

import {
  type Derivation,
  defineDerived,
  type RuleSettings,
  type Stored,
  type WholeRecord,
} from '../derive.js'
import { asNumber, minus } from '../exact.js'
import repairOrders from '../repair_orders.js'
import { boolean, cents, field, integer, nullable, number, oneOf, ref, text, timestamp } from '../resource.js'
import { billOf } from './bill.js'
import { orderDays } from './orderdays.js'

const day = (doc: string) => nullable(field('day', doc))
const flag = (doc: string) => boolean(doc)
const shown = (what: string) =>
  nullable(text(`When ${what}, in the shop's local time, as \`YYYY-MM-DD HH:MM:SS\`; null if unknown.`))

const fields = {
  repair_order_key: text('Key: TENANT-ID as one text, for tools that join tables on one column.'),
  number: integer('Number of the repair order.'),
  shop_id: ref('shops', 'Shop.'),
  customer_id: ref('customers', 'Customer.'),
  vehicle_id: ref('vehicles', 'Vehicle.'),
  technician_id: ref('staffs', 'The assigned technician.'),
  advisor_id: ref('staffs', 'Service advisor.'),
  state: oneOf(['estimate', 'in_progress', 'invoice'], 'State of the order.'),
  status_id: nullable(ref('statuses', 'Status.')),
  customer_source: nullable(repairOrders.fields.customer_source),
  created_on: day("The day the order was created, in the shop's time zone."),
  started_on: day("The day the order was started, in the shop's time zone; null while it is an estimate."),
  closed_on: day("The day the order was closed, in the shop's time zone; null until then."),
  picked_up_on: day("The day the vehicle was picked up, in the shop's time zone; null until then."),
  labor_hours: number('Sum of the hours of its labor lines.'),
  rated_labor_hours: number('Hours of labor lines whose service has a known labor rate.'),
  labor_cents: cents(
    'Sum of its labor lines: hours times the labor rate of the service, each line rounded to cents.',
  ),
  labor_discount_cents: cents(
    'Discount on labor: the cents given; otherwise the percentage of `labor_cents`; otherwise 0. At most `labor_cents`.',
  ),
  parts_cents: cents('Sum of its parts: quantity times price, each line rounded to cents.'),
  parts_discount_cents: cents(
    'Discount on parts: the cents given; otherwise the percentage of `parts_cents`; otherwise 0. At most `parts_cents`.',
  ),
  sublets_cents: cents('Sum of the prices of its sublets.'),
  hazmats_cents: cents('Sum of its hazmats: quantity times fee, each line rounded to cents.'),
  sales_cents: cents(
    'Labor and parts, each minus its discount, plus sublets and hazmats, before supply fee and taxes. Lines without a price count as 0.',
  ),
  supply_fee_cents: nullable(
    cents("Shop supplies fee; null if the API leaves it to the shop's settings, which it does not show."),
  ),
  labor_tax_cents: nullable(cents('Tax on taxable labor after its share of the discount; null if unknown.')),
  parts_tax_cents: nullable(
    cents('Tax on taxable parts after their share of the discount, and on the supply fee; null if unknown.'),
  ),
  sublets_tax_cents: nullable(cents('Tax on taxable sublets; null if unknown.')),
  hazmats_tax_cents: nullable(cents('Tax on taxable hazmats; null if unknown.')),
  tax_cents: nullable(cents('Sum of the four taxes; null if any is unknown.')),
  total_cents: nullable(
    cents('Sales, supply fee and taxes; null if any part is unknown (see `total_unknown`).'),
  ),
  parts_cost_cents: cents(
    'Sum of the known costs of its parts: quantity times cost, each line rounded to cents.',
  ),
  sublets_cost_cents: cents('Sum of the known costs of its sublets.'),
  gross_profit_cents: nullable(
    cents(
      "Sales minus the cost of parts and sublets, before technicians' pay, without the supply fee; null if a price or cost is unknown.",
    ),
  ),
  paid_cents: cents('Sum of the payments on the order.'),
  payments: integer('Number of payments on the order.'),
  balance_cents: nullable(cents('Total minus payments; null if the total is unknown.')),
  minutes_to_start: nullable(
    integer('Whole minutes from creation to start, rounded down; null if either time is missing.'),
  ),
  minutes_in_work: nullable(
    integer('Whole minutes from start to close, rounded down; null if either time is missing.'),
  ),
  minutes_to_pick_up: nullable(
    integer('Whole minutes from close to pick-up, rounded down; null if either time is missing.'),
  ),
  lines_without_price: integer(
    'Lines of any kind whose amount is unknown because hours, quantity, rate or price is missing or out of range. Above 0, the total is unknown.',
  ),
  lines_without_cost: integer(
    'Parts and sublets whose cost is unknown. Above 0, the gross profit is unknown.',
  ),
  supply_fee_unknown: flag('true if `supply_fee_cents` is null: then fee, parts tax and total are unknown.'),
  discount_exceeds_gross: flag(
    'true if the discount on labor or parts, as sent, is above 0 and larger than the amount it applies to: it counts as that amount.',
  ),
  fixed_price_ignored: flag(
    'true if a service came with a `fixed_price_cents`, which the API documentation does not show and the formula ignores.',
  ),
  lines_in_quarantine: integer(
    'Items and values of the formula that are in quarantine, and so in no sum. Above 0, the total is unknown.',
  ),
  total_unknown: flag('true if `total_cents` is null.'),
  supply_fee_tax_cents: nullable(
    cents('The part of `parts_tax_cents` that is the tax on the supply fee; null if `parts_tax_cents` is.'),
  ),
  unshared_discount_cents: cents(
    'Discounts below 0 (surcharges) on labor or parts that no line carries, because the lines they apply to total 0.',
  ),
  created_at_local: nullable(
    text(
      "When the order was created, in the shop's local time, as `YYYY-MM-DD HH:MM:SS`; null outside the calendar.",
    ),
  ),
  closed_at_local: nullable(
    text("When it was closed, in the shop's local time, as `YYYY-MM-DD HH:MM:SS`; null until then."),
  ),
  closed_at: nullable(timestamp('When it was closed; null until then.')),
  exempt_sales_cents: nullable(
    cents(
      "Sales marked as not taxable: lines that are not taxable, after their share of the discount, or all sales of an order that is not taxable. Null if the order doesn't say whether it is taxable. What is taxable at a rate of 0 is not among them.",
    ),
  ),
  taxable_sales_cents: nullable(
    cents(
      'Sales that are taxed at a rate above 0, and the supply fee if parts are: the rest of the sales and the fee is untaxed. Null if unknown.',
    ),
  ),
  untaxed_sales_cents: nullable(
    cents(
      'Sales and supply fee on which there is no tax: lines or orders that are not taxable, and kinds whose rate is 0. Null if unknown.',
    ),
  ),
  started_at_local: shown('work began'),
  picked_up_at_local: shown('the vehicle was picked up'),
  due_in_on: day("The day the vehicle is to be dropped off, in the shop's time zone."),
  due_in_at_local: shown('the vehicle is to be dropped off'),
  due_out_on: day("The day the vehicle is to be picked up, in the shop's time zone."),
  due_out_at_local: shown('the vehicle is to be picked up'),
  updated_at_local: shown('it was last changed at the source'),
  minutes_to_close: nullable(
    integer('Whole minutes from creation to close, rounded down; null if either time is missing.'),
  ),
  inspections_red: integer('Inspections whose result is `red`.'),
  inspections_yellow: integer('Inspections whose result is `yellow`.'),
  inspections_green: integer('Inspections whose result is `green`.'),
}

/** The columns to read from each table. */
const reads = {
  repair_orders: [
    'id',
    'number',
    'shop_id',
    'customer_id',
    'vehicle_id',
    'technician_id',
    'advisor_id',
    'state',
    'status_id',
    'customer_source',
    'created_at',
    'updated_at',
    'started_at',
    'closed_at',
    'picked_up_at',
    'due_in_at',
    'due_out_at',
    'part_discount_cents',
    'labor_discount_cents',
    'part_discount_percentage',
    'labor_discount_percentage',
    'part_tax_rate',
    'labor_tax_rate',
    'sublet_tax_rate',
    'hazmat_tax_rate',
    'taxable',
    'supply_fee_cents',
    '_extra',
  ],
  repair_order_services: ['id', 'labor_rate_cents', 'completed_at'],
  repair_order_labors: ['id', 'service_id', 'hours', 'taxable'],
  repair_order_parts: ['id', 'service_id', 'quantity', 'quoted_price_cents', 'cost_cents', 'taxable'],
  repair_order_sublets: ['id', 'service_id', 'price_cents', 'cost_cents', 'taxable'],
  repair_order_hazmats: ['id', 'service_id', 'quantity', 'fee_cents', 'taxable'],
  repair_order_inspections: ['state'],
  repair_order_payments: ['amount_cents'],
  repair_order_totals: ['lines_in_quarantine'],
} as const

/** Whether a service has a fixed price: the document doesn't show one, so it is among the unknown fields. */
function hasFixedPrice(extra: Stored | undefined): boolean {
  if (typeof extra !== 'string' || !extra.includes('fixed_price_cents')) return false
  const unknown = JSON.parse(extra) as Readonly<Record<string, unknown>>
  return Object.entries(unknown).some(
    ([path, value]) => value !== null && /^services\[\d+\]\.fixed_price_cents'*$/.test(path),
  )
}

/**
 * A literal, to which the days are added: an object that starts with a spread is filled name by name, which takes
 * longer than the whole formula.
 */
function totalsOf(record: WholeRecord, settings: RuleSettings): Derivation<typeof fields> {
  const [order] = record.rows.repair_orders ?? []
  if (!order) return { rows: [] }
  const bill = billOf(record, order, settings)
  const inspections = record.rows.repair_order_inspections ?? []
  const ofColor = (color: string): number =>
    inspections.reduce((count, { state }) => (state === color ? count + 1 : count), 0)
  const row = {
    repair_order_key: `${record.tenantId}-${order.id}`,
    number: order.number ?? null,
    shop_id: order.shop_id ?? null,
    customer_id: order.customer_id ?? null,
    vehicle_id: order.vehicle_id ?? null,
    technician_id: order.technician_id ?? null,
    advisor_id: order.advisor_id ?? null,
    state: order.state ?? null,
    status_id: order.status_id ?? null,
    customer_source: order.customer_source ?? null,
    labor_hours: asNumber(bill.hours),
    rated_labor_hours: asNumber(bill.ratedHours),
    labor_cents: bill.gross.labor,
    labor_discount_cents: bill.laborDiscount,
    parts_cents: bill.gross.parts,
    parts_discount_cents: bill.partsDiscount,
    sublets_cents: bill.gross.sublets,
    hazmats_cents: bill.gross.hazmats,
    sales_cents: bill.sales,
    supply_fee_cents: bill.supplyFee,
    labor_tax_cents: bill.taxes.labor,
    parts_tax_cents: bill.taxes.parts,
    sublets_tax_cents: bill.taxes.sublets,
    hazmats_tax_cents: bill.taxes.hazmats,
    tax_cents: bill.tax,
    total_cents: bill.total,
    parts_cost_cents: bill.partsCost,
    sublets_cost_cents: bill.subletsCost,
    gross_profit_cents: bill.grossProfit,
    paid_cents: bill.paid,
    payments: record.rows.repair_order_payments?.length ?? 0,
    balance_cents: bill.total === null ? null : minus(bill.total, bill.paid),
    lines_without_price: bill.withoutPrice,
    lines_without_cost: bill.withoutCost,
    supply_fee_unknown: bill.supplyFee === null,
    discount_exceeds_gross: bill.discountExceedsGross,
    fixed_price_ignored: hasFixedPrice(order._extra),
    lines_in_quarantine: bill.inQuarantine,
    total_unknown: bill.total === null,
    supply_fee_tax_cents: bill.supplyFeeTax,
    unshared_discount_cents: bill.unsharedDiscount,
    closed_at: order.closed_at ?? null,
    exempt_sales_cents: bill.exemptSales,
    taxable_sales_cents: bill.taxableSales,
    untaxed_sales_cents: bill.untaxedSales,
    inspections_red: ofColor('red'),
    inspections_yellow: ofColor('yellow'),
    inspections_green: ofColor('green'),
  }
  return { rows: [Object.assign(row, orderDays(order, settings))], lines: bill.lines }
}

export default defineDerived({
  name: 'repair_order_totals',
  of: 'repair_orders',
  ownerColumn: 'repair_order_id',
  doc: 'Totals of each repair order, by the formula in docs/totals.md: sales, discounts, taxes, total, cost, payments.',
  grain: 'one repair order of a shop, including deleted ones',
  version: 7,
  fields,
  indexes: [['shop_id', 'closed_on'], ['customer_id']],
  unique: ['repair_order_key'],
  reads,
  rule: totalsOf,
})

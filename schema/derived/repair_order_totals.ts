import {
  type Derivation,
  defineDerived,
  type RuleSettings,
  type Stored,
  type StoredRow,
  type WholeRecord,
} from '../derive.js'
import { asNumber, minus } from '../exact.js'
import { boolean, cents, field, integer, nullable, number, oneOf, ref, text } from '../resource.js'
import { billOf } from './bill.js'

const day = (doc: string) => nullable(field('day', doc))
const flag = (doc: string) => boolean(doc)

const fields = {
  repair_order_key: text('`TENANT-ID` as one text, for tools that relate tables by one column.'),
  number: integer('Number of the repair order.'),
  shop_id: ref('shops', 'Shop.'),
  customer_id: ref('customers', 'Customer.'),
  vehicle_id: ref('vehicles', 'Vehicle.'),
  technician_id: ref('staffs', 'Technician that the order is assigned to.'),
  advisor_id: ref('staffs', 'Service advisor.'),
  state: oneOf(['estimate', 'in_progress', 'invoice'], 'State of the order.'),
  status_id: nullable(ref('statuses', 'Status.')),
  customer_source: nullable(text('Marketing source of the customer.')),
  created_on: day("The shop's day on which the order was created."),
  started_on: day("The shop's day on which the order was started; null while it is an estimate."),
  closed_on: day("The shop's day on which the order was closed; null until then."),
  picked_up_on: day("The shop's day on which the vehicle was picked up; null until then."),
  labor_hours: number('Sum of the hours of its labors.'),
  rated_labor_hours: number('Hours of labors whose service has a labor rate.'),
  labor_cents: cents(
    'Sum of its labors: hours times the labor rate of the service, each line rounded to cents.',
  ),
  labor_discount_cents: cents(
    'Discount on labor: the cents given, else the percentage of `labor_cents`, else 0.',
  ),
  parts_cents: cents('Sum of its parts: quantity times price, each line rounded to cents.'),
  parts_discount_cents: cents(
    'Discount on parts: the cents given, else the percentage of `parts_cents`, else 0.',
  ),
  sublets_cents: cents('Sum of the prices of its sublets.'),
  hazmats_cents: cents('Sum of its hazmats: quantity times fee, each line rounded to cents.'),
  sales_cents: cents(
    'Labor and parts, each less its discount, sublets and hazmats. Before supply fee and taxes. Lines without a price are worth 0 here.',
  ),
  supply_fee_cents: nullable(
    cents(
      'Shop supplies fee; null where the API leaves it to the settings of the shop, which it does not show.',
    ),
  ),
  labor_tax_cents: nullable(
    cents('Tax on taxable labor after its share of the discount; null where unknown.'),
  ),
  parts_tax_cents: nullable(
    cents(
      'Tax on taxable parts after their share of the discount, and on the supply fee; null where unknown.',
    ),
  ),
  sublets_tax_cents: nullable(cents('Tax on taxable sublets; null where unknown.')),
  hazmats_tax_cents: nullable(cents('Tax on taxable hazmats; null where unknown.')),
  tax_cents: nullable(cents('Sum of the four taxes; null where one is unknown.')),
  total_cents: nullable(
    cents('Sales, supply fee and taxes; null where a part is unknown, see `total_unknown`.'),
  ),
  parts_cost_cents: cents(
    'Sum of the known costs of its parts: quantity times cost, each line rounded to cents.',
  ),
  sublets_cost_cents: cents('Sum of the known costs of its sublets.'),
  gross_profit_cents: nullable(
    cents(
      "Sales less the cost of parts and sublets: before technicians' pay, without the supply fee; null where a price or a cost is unknown.",
    ),
  ),
  paid_cents: cents('Sum of the payments that stand on the order.'),
  payments: integer('Number of the payments that stand on the order.'),
  balance_cents: nullable(cents('Total less what was paid; null where the total is unknown.')),
  minutes_to_start: nullable(
    integer('Whole minutes from creation to start, rounded down; null where an end is missing.'),
  ),
  minutes_in_work: nullable(
    integer('Whole minutes from start to close, rounded down; null where an end is missing.'),
  ),
  minutes_to_pick_up: nullable(
    integer('Whole minutes from close to pick-up, rounded down; null where an end is missing.'),
  ),
  lines_without_price: integer(
    'Labors, parts, sublets and hazmats whose worth is unknown: hours, quantity, rate or price is null or absurd. Above 0 the total is unknown.',
  ),
  lines_without_cost: integer(
    'Parts and sublets whose cost is unknown. Above 0 the gross profit is unknown.',
  ),
  supply_fee_unknown: flag('true where `supply_fee_cents` is null: fee, parts tax and total are unknown.'),
  discount_exceeds_gross: flag(
    'true where the discount on labor or parts is above 0 and above what it is given on.',
  ),
  fixed_price_ignored: flag(
    'true where a service came with a `fixed_price_cents`, which the API document does not show and the formula does not know.',
  ),
  lines_in_quarantine: integer(
    'Items and values of the formula that are in quarantine and in no sum. Above 0 the total is unknown.',
  ),
  total_unknown: flag('true where `total_cents` is null.'),
  supply_fee_tax_cents: nullable(
    cents(
      'The part of `parts_tax_cents` that no part takes: the tax on the supply fee; null where `parts_tax_cents` is.',
    ),
  ),
  unshared_discount_cents: cents(
    'The discounts on labor or parts that no line takes, since the lines they are given on come to 0.',
  ),
  created_at_local: nullable(
    text(
      "When the order was created by the shop's clock, as `YYYY-MM-DD HH:MM:SS`; null outside of the calendar.",
    ),
  ),
  closed_at_local: nullable(
    text("When it was closed by the shop's clock, as `YYYY-MM-DD HH:MM:SS`; null until then."),
  ),
  exempt_sales_cents: nullable(
    cents(
      'Sales that are not taxed: of the lines that are not taxable, after their share of the discount; all sales of an order that is not. Null where the order does not say whether it is taxable.',
    ),
  ),
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
    'started_at',
    'closed_at',
    'picked_up_at',
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
  repair_order_services: ['id', 'labor_rate_cents'],
  repair_order_labors: ['id', 'service_id', 'hours', 'taxable'],
  repair_order_parts: ['id', 'service_id', 'quantity', 'quoted_price_cents', 'cost_cents', 'taxable'],
  repair_order_sublets: ['id', 'service_id', 'price_cents', 'cost_cents', 'taxable'],
  repair_order_hazmats: ['id', 'service_id', 'quantity', 'fee_cents', 'taxable'],
  repair_order_payments: ['amount_cents'],
} as const

/** Whether a service has a fixed price: the document doesn't show one, so it is among the unknown fields. */
function hasFixedPrice(extra: Stored | undefined): boolean {
  if (typeof extra !== 'string' || !extra.includes('fixed_price_cents')) return false
  const unknown = JSON.parse(extra) as Readonly<Record<string, unknown>>
  return Object.entries(unknown).some(
    ([path, value]) => value !== null && /^services\[\d+\]\.fixed_price_cents'*$/.test(path),
  )
}

function daysAndMinutes(order: StoredRow, { dayOf, localOf, minutesBetween }: RuleSettings) {
  const on = (instant: Stored | undefined): string | null =>
    typeof instant === 'string' ? dayOf(order.shop_id ?? null, instant) : null
  const local = (instant: Stored | undefined): string | null =>
    typeof instant === 'string' ? localOf(order.shop_id ?? null, instant) : null
  const between = (from: Stored | undefined, to: Stored | undefined): number | null =>
    typeof from === 'string' && typeof to === 'string' ? minutesBetween(from, to) : null
  const { created_at: created, started_at: started, closed_at: closed, picked_up_at: gone } = order
  return {
    created_on: on(created),
    started_on: on(started),
    closed_on: on(closed),
    picked_up_on: on(gone),
    minutes_to_start: between(created, started),
    minutes_in_work: between(started, closed),
    minutes_to_pick_up: between(closed, gone),
    created_at_local: local(created),
    closed_at_local: local(closed),
  }
}

/**
 * A single literal: an object that starts with a spread is filled name by name, which takes longer than the whole
 * formula.
 */
function totalsOf(record: WholeRecord, settings: RuleSettings): Derivation<typeof fields> {
  const [order] = record.rows.repair_orders ?? []
  if (!order) return { rows: [] }
  const bill = billOf(record, order, settings)
  const { gross, taxes } = bill
  const days = daysAndMinutes(order, settings)
  return {
    rows: [
      {
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
        created_on: days.created_on,
        started_on: days.started_on,
        closed_on: days.closed_on,
        picked_up_on: days.picked_up_on,
        labor_hours: asNumber(bill.hours),
        rated_labor_hours: asNumber(bill.ratedHours),
        labor_cents: gross.labor,
        labor_discount_cents: bill.laborDiscount,
        parts_cents: gross.parts,
        parts_discount_cents: bill.partsDiscount,
        sublets_cents: gross.sublets,
        hazmats_cents: gross.hazmats,
        sales_cents: bill.sales,
        supply_fee_cents: bill.supplyFee,
        labor_tax_cents: taxes.labor,
        parts_tax_cents: taxes.parts,
        sublets_tax_cents: taxes.sublets,
        hazmats_tax_cents: taxes.hazmats,
        tax_cents: bill.tax,
        total_cents: bill.total,
        parts_cost_cents: bill.partsCost,
        sublets_cost_cents: bill.subletsCost,
        gross_profit_cents: bill.grossProfit,
        paid_cents: bill.paid,
        payments: record.rows.repair_order_payments?.length ?? 0,
        balance_cents: bill.total === null ? null : minus(bill.total, bill.paid),
        minutes_to_start: days.minutes_to_start,
        minutes_in_work: days.minutes_in_work,
        minutes_to_pick_up: days.minutes_to_pick_up,
        lines_without_price: bill.withoutPrice,
        lines_without_cost: bill.withoutCost,
        supply_fee_unknown: bill.supplyFee === null,
        discount_exceeds_gross: bill.discountExceedsGross,
        fixed_price_ignored: hasFixedPrice(order._extra),
        lines_in_quarantine: bill.inQuarantine,
        total_unknown: bill.total === null,
        supply_fee_tax_cents: bill.supplyFeeTax,
        unshared_discount_cents: bill.unsharedDiscount,
        created_at_local: days.created_at_local,
        closed_at_local: days.closed_at_local,
        exempt_sales_cents: bill.exemptSales,
      },
    ],
    lines: bill.lines,
  }
}

export default defineDerived({
  name: 'repair_order_totals',
  of: 'repair_orders',
  ownerColumn: 'repair_order_id',
  doc: 'What each repair order comes to, by the formula of docs/totals.md: sales, discounts, taxes, total, cost, payments.',
  grain: 'one repair order of a shop, deleted ones included',
  version: 3,
  fields,
  indexes: [['shop_id', 'closed_on'], ['customer_id']],
  unique: ['repair_order_key'],
  reads,
  rule: totalsOf,
})

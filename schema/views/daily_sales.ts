import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'daily_sales',
  doc: 'What each shop invoiced per day. Sums include known values only, and a column next to each counts what it leaves out.',
  grain: 'one shop and day on which it closed an invoice; invoices without a day share one row without a day',
  columns: {
    day: col.day("The day the invoices were closed, in the shop's time zone."),
    ...common,
    invoices: col.count.always('Invoices closed.'),
    cars: col.count.always('Vehicles on them, each counted once per day.'),
    customers: col.count.always('Customers on them, each counted once per day.'),
    labor_hours: col.hours('Hours sold.'),
    sales_cents: col.cents.always('Sales: after discounts, before supply fee and taxes.'),
    discount_cents: col.cents.always('Discounts on labor and parts.'),
    supply_fee_cents: col.cents.always('Known supply fees.'),
    tax_cents: col.cents.always('Known taxes.'),
    total_cents: col.cents.always('Known totals: what customers were billed.'),
    invoices_without_total: col.count.always(
      'Invoices whose total is unknown: they are in `sales_cents` but not in `total_cents`.',
    ),
    gross_profit_cents: col.cents.always(
      "Known gross profit: sales minus the cost of parts and sublets, before technicians' pay.",
    ),
    invoices_without_profit: col.count.always(
      'Invoices whose gross profit is unknown because a cost or price is.',
    ),
    paid_cents: col.cents.always('Payments on these invoices, whenever they were made.'),
    paid_where_total_known_cents: col.cents.always(
      'The same, for invoices whose total is known. Compare it with `total_cents`.',
    ),
    sales_where_profit_known_cents: col.cents.always(
      'Sales of invoices whose gross profit is known. For a margin, divide `gross_profit_cents` by this.',
    ),
  },
  example:
    'select day, sum(sales_cents) as sales_cents, sum(invoices) as invoices, sum(gross_profit_cents) as gross_profit_cents, sum(sales_where_profit_known_cents) as sales_where_profit_known_cents from daily_sales group by day order by day desc limit 31',
  build: (q) => ({
    select: {
      day: 'x.day',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      invoices: 'x.invoices',
      cars: 'x.cars',
      customers: 'x.customers',
      labor_hours: q.fromNine('x.hours_nine'),
      sales_cents: 'x.sales_cents',
      discount_cents: 'x.discount_cents',
      supply_fee_cents: 'x.supply_fee_cents',
      tax_cents: 'x.tax_cents',
      total_cents: 'x.total_cents',
      invoices_without_total: 'x.invoices_without_total',
      gross_profit_cents: 'x.gross_profit_cents',
      invoices_without_profit: 'x.invoices_without_profit',
      paid_cents: 'x.paid_cents',
      paid_where_total_known_cents: 'x.paid_where_total_known_cents',
      sales_where_profit_known_cents: 'x.sales_where_profit_known_cents',
    },
    from: `(
      select o.tenant_id, o.shop_id, o.closed_on as day,
        count(*) as invoices,
        count(distinct o.vehicle_id) as cars,
        count(distinct o.customer_id) as customers,
        ${q.sumNine('o.labor_hours')} as hours_nine,
        coalesce(sum(o.sales_cents), 0) as sales_cents,
        coalesce(sum(o.labor_discount_cents), 0) + coalesce(sum(o.parts_discount_cents), 0) as discount_cents,
        coalesce(sum(o.supply_fee_cents), 0) as supply_fee_cents,
        coalesce(sum(o.tax_cents), 0) as tax_cents,
        coalesce(sum(o.total_cents), 0) as total_cents,
        count(*) - count(o.total_cents) as invoices_without_total,
        coalesce(sum(o.gross_profit_cents), 0) as gross_profit_cents,
        count(*) - count(o.gross_profit_cents) as invoices_without_profit,
        coalesce(sum(o.paid_cents), 0) as paid_cents,
        coalesce(sum(case when o.total_cents is not null then o.paid_cents end), 0) as paid_where_total_known_cents,
        coalesce(sum(case when o.gross_profit_cents is not null then o.sales_cents end), 0) as sales_where_profit_known_cents
      from {repair_order_totals} o
      where o.state = 'invoice' and o._deleted_at is null
      group by o.tenant_id, o.shop_id, o.closed_on) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id`,
  }),
})

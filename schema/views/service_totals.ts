import { isPrice, joinOrder } from '../lines.js'
import { col, common, defineView, takes } from '../view.js'

const sales =
  's._labor_cents - s._labor_discount_cents + s._parts_cents - s._parts_discount_cents + s._sublets_cents + s._hazmats_cents'

export default defineView({
  name: 'service_totals',
  doc: "Totals of each service of a repair order. The order's discounts are divided among its services so they sum to the order exactly. A service without labor or parts gets none.",
  grain: 'one service of a live repair order',
  columns: {
    closed_on: col.day("The day the order was closed, in the shop's time zone; null until then."),
    created_on: col.day("The day the order was created, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.always('Key of the repair order: TENANT-ID.'),
    state: col.text('State of the order: `estimate`, `in_progress` or `invoice`.'),
    service_id: col.id.always('The service.'),
    service_key: col.text.unique('Key of the service: TENANT-ORDER-ID. Unique.'),
    title: col.text('Title of the service.'),
    category_id: col.id('Category of the service.'),
    category: col.text('Text of the category.'),
    canned_job_id: col.id('Canned job the service was made from.'),
    completed: col.boolean("Whether staff marked it completed. Services that aren't still count."),
    labor_hours: col.hours('Sum of its hours.'),
    labor_cents: col.cents.always('Sum of its labor lines, before discount.'),
    labor_discount_cents: col.cents.always("Its share of the order's labor discount."),
    parts_cents: col.cents.always('Sum of its parts, before discount.'),
    parts_discount_cents: col.cents.always("Its share of the order's parts discount."),
    sublets_cents: col.cents.always('Sum of its sublets.'),
    hazmats_cents: col.cents.always('Sum of its hazmats.'),
    sales_cents: col.cents.always('What it adds to the sales of its order, before supply fee and taxes.'),
    cost_cents: col.cents.always('Sum of the known costs of its parts and sublets.'),
    gross_profit_cents: col.cents(
      "Sales minus cost, before technicians' pay; null if a price or cost in it is unknown.",
    ),
    lines_without_hours: col.count.always(
      'Labor lines whose hours are unknown or out of range. They are in neither `labor_hours` nor `labor_cents`.',
    ),
    sales_where_profit_known_cents: col.cents.always(
      'Sales of the service if its gross profit is known, otherwise 0. A margin divides the gross profit by this.',
    ),
    completed_on: col.day("The day staff marked it completed, in the shop's time zone."),
    completed_at: col.timestamp('When staff marked it completed.'),
    completed_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    rated_hours: col.hours(
      '`labor_hours` if the service has a labor rate, otherwise 0. A labor rate divides labor by this.',
    ),
  },
  example:
    "select title, count(*) as sold, sum(sales_cents) as sales_cents from service_totals where state = 'invoice' group by title order by sales_cents desc limit 10",
  build: (q) => ({
    select: {
      ...takes('o', 'closed_on', 'created_on', 'tenant_id'),
      tenant_name: q.tenantName('o.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      ...takes('o', 'repair_order_id', 'repair_order_key', 'state'),
      service_id: 's.id',
      service_key: q.key('s.tenant_id', 's.repair_order_id', 's.id'),
      ...takes('s', 'title', 'category_id'),
      category: 'c.text',
      ...takes('s', 'canned_job_id', 'completed'),
      labor_hours: q.fromNine('s._labor_nine'),
      labor_cents: 's._labor_cents',
      labor_discount_cents: 's._labor_discount_cents',
      parts_cents: 's._parts_cents',
      parts_discount_cents: 's._parts_discount_cents',
      sublets_cents: 's._sublets_cents',
      hazmats_cents: 's._hazmats_cents',
      sales_cents: sales,
      cost_cents: 's._cost_cents',
      gross_profit_cents: 's._gross_profit_cents',
      lines_without_hours: 's._hours_unknown',
      sales_where_profit_known_cents: `case when s._gross_profit_cents is null then 0 else ${sales} end`,
      completed_on: 's._completed_on',
      completed_at: 's.completed_at',
      completed_at_local: 's._completed_at_local',
      rated_hours: q.fromNine(`(case when ${isPrice('s.labor_rate_cents')} then s._labor_nine else 0 end)`),
    },
    from: `{repair_order_services} s ${joinOrder('s')}
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {categories} c on c.tenant_id = o.tenant_id and c.id = s.category_id`,
  }),
})

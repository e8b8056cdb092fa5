import { isInvoice } from '../open.js'
import { joinToday, today, todays } from '../today.js'
import { col, common, defineView, type ViewWords } from '../view.js'

const visits = (customer: string): string =>
  `from {repair_order_totals} v where v.tenant_id = ${customer}.tenant_id and v.customer_id = ${customer}.customer_id and ${isInvoice('v')} and v.closed_on is not null`

const visit = (what: string, direction: 'asc' | 'desc'): string =>
  `(select v.${what} ${visits('y')} order by v.closed_on ${direction}, v.repair_order_id ${direction} limit 1)`

const withoutProfit = 'x.invoices - x.profits'

const standing = (q: ViewWords): string => {
  const age = `${today} - ${q.dayNumber('x.last_visit_on')}`
  return `case when x.invoices = 0 then 'never' when ${age} <= 180 then 'active' when ${age} <= 365 then 'lapsing' when x.last_visit_on is not null then 'lost' end`
}

export default defineView({
  name: 'customer_value',
  doc: 'What each customer has spent, and whether they still come. A visit is a day with an invoice.',
  grain: 'one live customer of a tenant',
  columns: {
    last_visit_on: col.day("The day the customer's last invoice was closed, in the shop's time zone."),
    first_visit_on: col.day("The day the customer's first invoice was closed, in the shop's time zone."),
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    customer_id: col.id.always('The customer.'),
    customer_key: col.key.unique('dim_customers', 'Key of the customer: TENANT-ID. Unique.'),
    customer_name: col.text.always('Name of the customer.', { personal: true }),
    visits: col.count.always('Days on which invoices of theirs were closed.'),
    sales_cents: col.cents.always('Sales on their invoices.'),
    gross_profit_cents: col.cents.always('Known gross profit on their invoices.'),
    visits_without_profit: col.count.always(
      'Invoices, not visits, whose gross profit is unknown: the same number as `invoices_without_profit`, under an older name.',
    ),
    vehicles: col.count.always('Vehicles on their invoices.'),
    standing: col.text(
      '`active`: the last visit was up to 180 days ago. `lapsing`: up to 365 days ago. `lost`: longer ago. `never`: no visit yet.',
    ),
    sales_where_profit_known_cents: col.cents.always(
      'Sales on those of their invoices whose gross profit is known. A margin divides `gross_profit_cents` by this.',
    ),
    invoices: col.count.always('Their invoices.'),
    second_visit_on: col.day(
      'The second day on which an invoice of theirs was closed; null if they came once or never.',
    ),
    invoices_without_profit: col.count.always('Their invoices whose gross profit is unknown.'),
  },
  example:
    'select standing, count(*) as customers, sum(sales_cents) as sales_cents from customer_value group by standing order by standing',
  build: (q) => ({
    with: todays(q),
    select: {
      last_visit_on: 'x.last_visit_on',
      first_visit_on: 'x.first_visit_on',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      customer_id: 'x.customer_id',
      customer_key: q.key('x.tenant_id', 'x.customer_id'),
      customer_name: 'x.customer_name',
      visits: 'x.visits',
      sales_cents: 'x.sales_cents',
      gross_profit_cents: 'x.gross_profit_cents',
      visits_without_profit: withoutProfit,
      invoices_without_profit: withoutProfit,
      vehicles: 'x.vehicles',
      standing: standing(q),
      sales_where_profit_known_cents: 'x.profitable_sales_cents',
      invoices: 'x.invoices',
      second_visit_on: `(select v.closed_on ${visits('x')} and v.closed_on > x.first_visit_on order by v.closed_on limit 1)`,
    },
    from: `(
      select c.tenant_id, c.id as customer_id, ${q.name('customers', 'c', 'c.id')} as customer_name,
        coalesce(y.visits, 0) as visits, coalesce(y.invoices, 0) as invoices, coalesce(y.sales_cents, 0) as sales_cents,
        coalesce(y.gross_profit_cents, 0) as gross_profit_cents, coalesce(y.profits, 0) as profits,
        coalesce(y.profitable_sales_cents, 0) as profitable_sales_cents,
        coalesce(y.vehicles, 0) as vehicles,
        ${visit('closed_on', 'asc')} as first_visit_on, ${visit('closed_on', 'desc')} as last_visit_on,
        ${visit('shop_id', 'desc')} as last_shop_id
      from {customers} c
      left join (
        select o.tenant_id, o.customer_id, count(distinct o.closed_on) as visits, count(*) as invoices, sum(o.sales_cents) as sales_cents,
          sum(o.gross_profit_cents) as gross_profit_cents, count(o.gross_profit_cents) as profits,
          sum(case when o.gross_profit_cents is not null then o.sales_cents end) as profitable_sales_cents,
          count(distinct o.vehicle_id) as vehicles
        from {repair_order_totals} o
        where ${isInvoice('o')}
        group by o.tenant_id, o.customer_id) y on y.tenant_id = c.tenant_id and y.customer_id = c.id
      where c._deleted_at is null) x
      ${joinToday('x.tenant_id', 'x.last_shop_id')}`,
  }),
})

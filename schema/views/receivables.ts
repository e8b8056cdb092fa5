import { atLeastDue, daysSinceClosing, isUnsettled } from '../open.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'receivables',
  doc: 'Invoices that are not settled: their balance is not 0, or is unknown. What is to be collected is the sum of the positive balances; a negative one is a credit, owed to the customer.',
  grain: 'one live invoice that is not settled',
  columns: {
    closed_on: col.day("The shop's day on which the invoice was closed."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.unique('The repair order, as one text: TENANT-ID; unique.'),
    number: col.integer('Its number.'),
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'The customer, as one text: TENANT-ID.'),
    customer_name: col.text('Name of the customer.'),
    total_cents: col.cents('Total; null where it is unknown.'),
    sales_cents: col.cents.always('Sales: what is known even where the total is not.'),
    paid_cents: col.cents.always('What was paid.'),
    balance_cents: col.cents('Total less what was paid; null where the total is unknown.'),
    days: col.days("Days since closing, from shop's day to shop's day."),
    bucket: col.text('`0 to 30`, `31 to 60`, `61 to 90` or `over 90` days.'),
    at_least_due_cents: col.cents.always(
      'What the customer owes at least: the balance; where that is unknown, what is known of sales, fee and taxes less what was paid. 0 where that is not positive.',
    ),
  },
  example:
    'select bucket, sum(case when balance_cents > 0 then balance_cents else 0 end) as to_collect_cents, sum(case when balance_cents < 0 then balance_cents else 0 end) as credits_cents, sum(case when balance_cents is null then 1 else 0 end) as unknown, sum(at_least_due_cents) as at_least_due_cents from receivables group by bucket order by bucket',
  build: (q) => ({
    select: {
      closed_on: 'x.closed_on',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      repair_order_id: 'x.repair_order_id',
      repair_order_key: 'x.repair_order_key',
      number: 'x.number',
      customer_id: 'x.customer_id',
      customer_key: q.key('x.tenant_id', 'x.customer_id'),
      customer_name: q.name('customers', 'c', 'x.customer_id'),
      total_cents: 'x.total_cents',
      sales_cents: 'x.sales_cents',
      paid_cents: 'x.paid_cents',
      balance_cents: 'x.balance_cents',
      days: 'x.days',
      bucket:
        "case when x.days is null then null when x.days <= 30 then '0 to 30' when x.days <= 60 then '31 to 60' when x.days <= 90 then '61 to 90' else 'over 90' end",
      at_least_due_cents: 'x.at_least_due_cents',
    },
    from: `(
      select o.*, ${daysSinceClosing(q, 'o')} as days, ${atLeastDue('o')} as at_least_due_cents from {repair_order_totals} o where ${isUnsettled('o')}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      left join {customers} c on c.tenant_id = x.tenant_id and c.id = x.customer_id`,
  }),
})

import { atLeastDue, daysSinceClosing, isUnsettled } from '../open.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'receivables',
  doc: 'Unsettled invoices, whose balance is not 0 or is unknown. The amount to collect is the sum of the positive balances. A negative balance is a credit owed to the customer.',
  grain: 'one live invoice that is not settled',
  columns: {
    closed_on: col.day("The day the invoice was closed, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.unique('Key of the repair order: TENANT-ID. Unique.'),
    number: col.integer('Its number.'),
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    total_cents: col.cents('Total; null if it is unknown.'),
    sales_cents: col.cents.always('Sales, which are known even if the total is not.'),
    paid_cents: col.cents.always('Amount paid.'),
    balance_cents: col.cents('Total minus payments; null if the total is unknown.'),
    days: col.days("Days since closing, in the shop's time zone."),
    bucket: col.text('`0 to 30`, `31 to 60`, `61 to 90` or `over 90` days.'),
    at_least_due_cents: col.cents.always(
      'The least the customer owes: the balance or, if that is unknown, the known sales, fee and taxes minus payments. Never below 0.',
    ),
    is_owed: col.boolean.always(
      'Whether something is known to be owed: `at_least_due_cents` is above 0. The other rows are credits, and invoices whose unknown part may be 0.',
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
      is_owed: 'x.at_least_due_cents > 0',
    },
    from: `(
      select o.*, ${daysSinceClosing(q, 'o')} as days, ${atLeastDue('o')} as at_least_due_cents from {repair_order_totals} o where ${isUnsettled('o')}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      left join {customers} c on c.tenant_id = x.tenant_id and c.id = x.customer_id`,
  }),
})

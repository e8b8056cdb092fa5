import { col, common, defineView } from '../view.js'

const countOf = (condition: string): string => `coalesce(sum(case when ${condition} then 1 else 0 end), 0)`
const isPaid = 'o.total_cents is not null and (o.paid_cents <> 0 or o.total_cents = 0)'

export default defineView({
  name: 'totals_check',
  doc: 'Whether payments equal computed totals, which shows that the formula matches what shops charge. Every invoice is in one of the five columns after `invoices`.',
  grain: 'one shop and month in which it closed an invoice',
  columns: {
    month: col.text("The month the invoices were closed, as YYYY-MM, in the shop's time zone."),
    ...common,
    invoices: col.count.always('Invoices closed.'),
    unpaid: col.count.always('Invoices with a known total and no payment.'),
    total_unknown: col.count.always('Invoices whose total is unknown.'),
    equal_to_the_cent: col.count.always('Invoices on which exactly the total was paid.'),
    off_by_rounding: col.count.always('Invoices on which payments are off by 1 to 5 cents.'),
    off_by_more: col.count.always(
      'Invoices on which payments are off by more than 5 cents, such as those with deposits and installments.',
    ),
    shared_services: col.count.always(
      'Services of these invoices that another live order also has. They are in the sums of both until the order that lost them is read again.',
    ),
  },
  example:
    'select month, sum(equal_to_the_cent) as equal_to_the_cent, sum(off_by_rounding) as off_by_rounding, sum(off_by_more) as off_by_more from totals_check group by month order by month desc',
  build: (q) => ({
    with: `held as (
      select s.tenant_id, s.id, s.repair_order_id
      from (select tenant_id, id from {repair_order_services} n group by tenant_id, id having count(*) > 1) r
        join {repair_order_services} s on s.tenant_id = r.tenant_id and s.id = r.id
        join {repair_orders} o on o.tenant_id = s.tenant_id and o.id = s.repair_order_id
      where o._deleted_at is null),
      shared as (
      select h.tenant_id, h.repair_order_id, count(*) as services
      from held h join (select tenant_id, id from held group by tenant_id, id having count(*) > 1) t
        on t.tenant_id = h.tenant_id and t.id = h.id
      group by h.tenant_id, h.repair_order_id)`,
    select: {
      month: 'x.month',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      invoices: 'x.invoices',
      unpaid: 'x.unpaid',
      total_unknown: 'x.total_unknown',
      equal_to_the_cent: 'x.equal_to_the_cent',
      off_by_rounding: 'x.off_by_rounding',
      off_by_more: 'x.off_by_more',
      shared_services: 'x.shared_services',
    },
    from: `(
      select o.tenant_id, o.shop_id, ${q.month('o.closed_on')} as month, count(*) as invoices,
        ${countOf('o.total_cents <> 0 and o.paid_cents = 0')} as unpaid,
        ${countOf('o.total_cents is null')} as total_unknown,
        ${countOf(`${isPaid} and o.balance_cents = 0`)} as equal_to_the_cent,
        ${countOf(`${isPaid} and o.balance_cents <> 0 and o.balance_cents between -5 and 5`)} as off_by_rounding,
        ${countOf(`${isPaid} and o.balance_cents not between -5 and 5`)} as off_by_more,
        coalesce(sum(s.services), 0) as shared_services
      from {repair_order_totals} o
        left join shared s on s.tenant_id = o.tenant_id and s.repair_order_id = o.repair_order_id
      where o.state = 'invoice' and o._deleted_at is null
      group by o.tenant_id, o.shop_id, ${q.month('o.closed_on')}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id`,
  }),
})

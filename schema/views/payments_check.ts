import { sane } from '../lines.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'payments_check',
  doc: 'Payments are told twice, on the orders and in a list of their own: whether both say the same. Every order with a payment on either side is in one of `equal` and `differ`.',
  grain:
    'one shop and month in which it closed orders that have payments; orders that are still open share a row of none',
  columns: {
    month: col.text(
      "Month of the shop's day on which the orders were closed, as YYYY-MM; null while they are open.",
    ),
    ...common,
    orders: col.count.always('Live orders with a payment, on the order or in the list.'),
    equal: col.count.always('Those on which both come to the same.'),
    differ: col.count.always('Those on which they do not.'),
    difference_cents: col.cents.always(
      'What the list has more than the orders; less where it is negative. Differences of several orders may cancel.',
    ),
  },
  example:
    'select month, sum(orders) as orders, sum(differ) as differ, sum(difference_cents) as difference_cents from payments_check group by month order by month desc',
  build: (q) => ({
    select: {
      month: 'x.month',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      orders: 'x.orders',
      equal: 'x.orders - x.differ',
      differ: 'x.differ',
      difference_cents: 'x.difference_cents',
    },
    from: `(
      select o.tenant_id, o.shop_id, ${q.month('o.closed_on')} as month, count(*) as orders,
        coalesce(sum(case when coalesce(l.cents, 0) <> o.paid_cents then 1 else 0 end), 0) as differ,
        coalesce(sum(coalesce(l.cents, 0) - o.paid_cents), 0) as difference_cents
      from {repair_order_totals} o
      left join (
        select p.tenant_id, p.repair_order_id, coalesce(sum(${sane('p.amount_cents')}), 0) as cents
        from {payments} p where p._deleted_at is null
        group by p.tenant_id, p.repair_order_id) l on l.tenant_id = o.tenant_id and l.repair_order_id = o.repair_order_id
      where o._deleted_at is null and (o.payments > 0 or l.repair_order_id is not null)
      group by o.tenant_id, o.shop_id, ${q.month('o.closed_on')}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id`,
  }),
})

import { sane } from '../lines.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'payments_check',
  doc: 'The API reports payments twice, on the orders and in a list of their own. This view compares the two. Every order with a payment on either side is in either `equal` or `differ`.',
  grain:
    'one shop and month in which it closed orders with payments; orders that are still open share one row without a month',
  columns: {
    month: col.text(
      "The month the orders were closed, as YYYY-MM, in the shop's time zone; null while they are open.",
    ),
    ...common,
    orders: col.count.always('Live orders with a payment, on the order or in the list.'),
    equal: col.count.always('Orders on which both add up to the same amount.'),
    differ: col.count.always('Orders on which they differ.'),
    difference_cents: col.cents.always(
      'Sum in the list minus sum on the orders. Differences of several orders may cancel out.',
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

import { joinOrderIfAny, named, sane } from '../lines.js'
import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

const entered = (q: ViewWords): JoinedDay => q.shopDay('d', 'p.tenant_id', 'any_.shop_id', 'p.created_at')

export default defineView({
  name: 'payments_daily',
  doc: 'Payments per day, by type: what was taken in, as the bank sees it. Payments whose order was deleted or is unknown count too, in the shop of the deleted order (`order_gone_cents`).',
  grain: 'one shop, day, type and name of payments',
  columns: {
    day: col.day("The day the payments were entered, in the shop's time zone."),
    ...common,
    type: col.text.always('`Credit Card`, `Check`, `Cash` or `Other`; `(none)` if blank.'),
    type_name: col.text.always(
      'What is known beyond the type, such as the card brand; `(none)` for most payments. Group by `type`, or by both, never by this alone.',
    ),
    payments: col.count.always('Number of payments, including refunds.'),
    amount_cents: col.cents.always('Their sum. Refunds are negative.'),
    refunds: col.count.always(
      'Number of negative payments: the same number as `refund_payments`, under an older name. Their sum is `refund_cents`.',
    ),
    amounts_unknown: col.count.always(
      'Payments whose amount is unknown or out of range. They are not in `amount_cents`.',
    ),
    refund_cents: col.cents.always('Sum of the negative payments: 0 or less, and part of `amount_cents`.'),
    refund_payments: col.count.always(
      'Number of negative payments: the same number as `refunds`. Their sum is `refund_cents`.',
    ),
    deposit_cents: col.cents.always(
      "Sum of payments entered before the day their order was closed, or on orders that aren't closed. Part of `amount_cents`, without payments whose order is gone.",
    ),
    order_gone_cents: col.cents.always(
      'Sum of payments whose order was deleted or is unknown. Part of `amount_cents`; subtract it to compare with what was invoiced.',
    ),
  },
  example:
    'select type, sum(amount_cents) as amount_cents, sum(refund_cents) as refund_cents from payments_daily group by type order by type',
  build: (q) => ({
    select: {
      day: 'x.day',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      type: 'x.type',
      type_name: 'x.type_name',
      payments: 'x.payments',
      amount_cents: 'x.amount_cents',
      refunds: 'x.refunds',
      amounts_unknown: 'x.amounts_unknown',
      refund_cents: 'x.refund_cents',
      refund_payments: 'x.refunds',
      deposit_cents: 'x.deposit_cents',
      order_gone_cents: 'x.order_gone_cents',
    },
    from: `(
      select y.tenant_id, y.shop_id, y.day, y.type, y.type_name, count(*) as payments,
        coalesce(sum(y.amount_cents), 0) as amount_cents,
        coalesce(sum(case when y.amount_cents < 0 then 1 else 0 end), 0) as refunds,
        coalesce(sum(case when y.amount_cents < 0 then y.amount_cents end), 0) as refund_cents,
        coalesce(sum(case when not y.order_gone and (y.closed_on is null or y.day < y.closed_on) then y.amount_cents end), 0) as deposit_cents,
        coalesce(sum(case when y.order_gone then y.amount_cents end), 0) as order_gone_cents,
        count(*) - count(y.amount_cents) as amounts_unknown
      from (
        select p.tenant_id, any_.shop_id, o.closed_on, o.repair_order_id is null as order_gone, ${entered(q).day} as day,
          ${named('p.payment_type_details_type')} as type, ${named('p.payment_type_details_name')} as type_name,
          ${sane('p.amount_cents')} as amount_cents
        from {payments} p ${joinOrderIfAny} ${entered(q).join}
        where p._deleted_at is null) y
      group by y.tenant_id, y.shop_id, y.day, y.type, y.type_name) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id`,
  }),
})

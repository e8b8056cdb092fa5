import { sane } from '../lines.js'
import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

const attempted = (q: ViewWords): JoinedDay => q.shopDay('d', 'p.tenant_id', 'o.shop_id', 'p.created_at')

export default defineView({
  name: 'card_attempts',
  doc: 'Attempts to charge or refund a card, and whether a failed one was approved later.',
  grain: 'one attempt',
  columns: {
    day: col.day("The day of the attempt, in the shop's time zone."),
    ...common,
    payment_transaction_id: col.id.always('The attempt.'),
    payment_transaction_key: col.text.unique('Key of the attempt: TENANT-ID. Unique.'),
    repair_order_id: col.id('The order it was for.'),
    repair_order_key: col.text('Key of that order: TENANT-ID.'),
    staff_id: col.id('Who made it.'),
    staff_key: col.key('dim_staffs', 'Key of that member of staff: TENANT-ID.'),
    staff_name: col.text('Name of that member of staff.', { personal: true }),
    reader: col.text('Serial number of the card reader.'),
    status: col.text('Outcome. Only `approved` is a success.'),
    response_code: col.text('Code from the payment gateway.'),
    attempted_at: col.timestamp('When it was made.'),
    requested_amount_cents: col.cents('The amount to charge or refund.', { unit: 'cents per attempt' }),
    amount_cents: col.cents('The amount charged or refunded.', { unit: 'cents per attempt' }),
    failed: col.boolean.always('true unless it was approved.'),
    failed_then_approved: col.boolean.always(
      'true if it failed and a later attempt for the same order was approved.',
    ),
    attempted_at_local: col.text("When it was made, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    'select reader, count(*) as attempts, sum(case when failed then 1 else 0 end) as failed from card_attempts group by reader order by failed desc',
  build: (q) => ({
    select: {
      day: attempted(q).day,
      tenant_id: 'p.tenant_id',
      tenant_name: q.tenantName('p.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('p.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      payment_transaction_id: 'p.id',
      payment_transaction_key: q.key('p.tenant_id', 'p.id'),
      repair_order_id: 'p.repair_order_id',
      repair_order_key: q.key('p.tenant_id', 'p.repair_order_id'),
      staff_id: 'p.staff_id',
      staff_key: q.key('p.tenant_id', 'p.staff_id'),
      staff_name: q.name('staffs', 't', 'p.staff_id'),
      reader: 'p.serial_number',
      status: 'p.status',
      response_code: 'p.response_code',
      attempted_at: 'p.created_at',
      requested_amount_cents: sane('p.requested_amount_cents'),
      amount_cents: sane('p.amount_cents'),
      failed: "coalesce(p.status, '') <> 'approved'",
      failed_then_approved: `coalesce(p.status, '') <> 'approved' and exists (
        select 1 from {payment_transactions} later
        where later.tenant_id = p.tenant_id and later.repair_order_id = p.repair_order_id and later.status = 'approved'
          and later._deleted_at is null
          and (later.created_at > p.created_at or (later.created_at = p.created_at and later.id > p.id)))`,
      attempted_at_local: attempted(q).local,
    },
    from: `{payment_transactions} p
      left join {repair_order_totals} o on o.tenant_id = p.tenant_id and o.repair_order_id = p.repair_order_id and o._deleted_at is null
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {staffs} t on t.tenant_id = p.tenant_id and t.id = p.staff_id ${attempted(q).join}
      where p._deleted_at is null`,
  }),
})

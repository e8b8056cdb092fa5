import { joinOrderIfAny, named, sane } from '../lines.js'
import { col, common, defineView, type JoinedDay, takes, type ViewWords } from '../view.js'

const paid = (q: ViewWords): JoinedDay => q.shopDay('d', 'p.tenant_id', 'any_.shop_id', 'p.created_at')

/** The payments of the same order that exist at the source. */
const ofOrder = (other: string, one: string): string =>
  `{payments} ${other} where ${other}.tenant_id = ${one}.tenant_id and ${other}.repair_order_id = ${one}.repair_order_id and ${other}._deleted_at is null`

/** Payments entered at the same instant come in the order of their ids. */
const isUpTo = (other: string, one: string): string =>
  `(${other}.created_at < ${one}.created_at or (${other}.created_at = ${one}.created_at and ${other}.id <= ${one}.id))`

/** What was paid on the order up to one of its payments; a payment without an order or a time is alone. */
const paidUpTo = (one: string): string =>
  `coalesce((select sum(${sane('f.amount_cents')}) from ${ofOrder('f', one)} and ${isUpTo('f', one)}), ${sane(`${one}.amount_cents`)}, 0)`

const soFar = paidUpTo('p')

/** The invoice's total was not covered before it, is covered with it, and stayed so. */
const settles = `o.state = 'invoice' and ${soFar} >= o.total_cents
        and ${soFar} - coalesce(${sane('p.amount_cents')}, 0) < o.total_cents
        and not exists (select 1 from ${ofOrder('e', 'p')} and not ${isUpTo('e', 'p')} and ${paidUpTo('e')} < o.total_cents)`

export default defineView({
  name: 'payments_ledger',
  doc: 'Payments one by one, with the order that each is for: deposits, and the payment that settled an invoice. If the order was deleted or is unknown (`order_gone`), its columns are null; the payment and its shop stay, as in `payments_daily`.',
  grain: 'one payment',
  columns: {
    paid_on: col.day("The day the payment was entered, in the shop's time zone."),
    closed_on: col.day(
      "The day its order was closed, in the shop's time zone; null if it isn't closed. For what was collected, use `paid_on`.",
    ),
    ...common,
    payment_id: col.id.always('The payment.'),
    payment_key: col.text.unique('Key of the payment: TENANT-ID. Unique.'),
    repair_order_id: col.id('The order it is for, even if that is gone.'),
    repair_order_key: col.text('Key of that order: TENANT-ID.'),
    number: col.integer('Number of that order.'),
    state: col.text('State of that order: `estimate`, `in_progress` or `invoice`.'),
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    type: col.text.always('`Credit Card`, `Check`, `Cash` or `Other`; `(none)` if blank.'),
    type_name: col.text.always(
      'What is known beyond the type, such as the card brand; `(none)` for most payments. Group by `type`, or by both, never by this alone.',
    ),
    amount_cents: col.cents('Its amount, negative for a refund; null if unknown or out of range.'),
    is_refund: col.boolean.always('Whether the amount is negative.'),
    is_deposit: col.boolean.always(
      "Whether it was entered before the day its order was closed, or on an order that isn't closed. False if the order is gone.",
    ),
    paid_at: col.timestamp('When it was entered.'),
    paid_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    paid_so_far_cents: col.cents.always(
      'All payments on the order up to and including this one. Not for sums: each row repeats the rows before it.',
      { unit: 'cents up to then' },
    ),
    settled_on: col.day(
      'The day of the payment, if with it the payments first covered the total of the invoice and stayed so; null for all other payments. A double charge and its refund change nothing. Its count is the number of invoices settled by a payment. An invoice whose total is unknown has none.',
    ),
    days_to_pay: col.days(
      'Days from closing to the payment that settled the invoice, 0 if that came first; null for all other payments.',
    ),
    order_gone: col.boolean.always('Whether the order was deleted or is unknown.'),
    notes: col.text('What was written about it, such as why it was refunded.', { personal: true }),
  },
  example:
    'select shop_key, shop_name, count(settled_on) as settled, sum(days_to_pay) as days_to_pay from payments_ledger where settled_on is not null group by shop_key, shop_name order by shop_name, shop_key',
  build: (q) => {
    const late = 's.day_number - n.day_number'
    return {
      select: {
        ...takes('x', 'paid_on', 'closed_on', 'tenant_id', 'shop_id', 'payment_id', 'repair_order_id'),
        ...takes('x', 'number', 'state', 'customer_id', 'type', 'type_name'),
        ...takes('x', 'amount_cents', 'paid_at', 'paid_at_local', 'paid_so_far_cents', 'order_gone', 'notes'),
        tenant_name: q.tenantName('x.tenant_id'),
        shop_key: q.key('x.tenant_id', 'x.shop_id'),
        shop_name: q.name('shops', 'h', 'x.shop_id'),
        repair_order_key: q.key('x.tenant_id', 'x.repair_order_id'),
        payment_key: q.key('x.tenant_id', 'x.payment_id'),
        customer_key: q.key('x.tenant_id', 'x.customer_id'),
        customer_name: q.name('customers', 'c', 'x.customer_id'),
        is_refund: 'coalesce(x.amount_cents < 0, false)',
        is_deposit: 'not x.order_gone and (x.closed_on is null or coalesce(x.paid_on < x.closed_on, false))',
        settled_on: 's.day',
        days_to_pay: `case when ${late} > 0 then ${late} when s.day is not null and n.day is not null then 0 end`,
      },
      // A day that is chosen by a case has no type, so the table's day is shown. A bare condition among those of the join
      // makes SQLite 3.31 lose rows.
      from: `(
      select ${paid(q).day} as paid_on, ${paid(q).local} as paid_at_local, p.created_at as paid_at,
        p.tenant_id, any_.shop_id, p.repair_order_id, o.repair_order_id is null as order_gone, p.notes, o.number, o.state, o.customer_id, o.closed_on,
        p.id as payment_id, ${named('p.payment_type_details_type')} as type,
        ${named('p.payment_type_details_name')} as type_name, ${sane('p.amount_cents')} as amount_cents,
        ${soFar} as paid_so_far_cents, case when ${settles} then ${paid(q).day} end as settles_on
      from {payments} p ${joinOrderIfAny} ${paid(q).join}
      where p._deleted_at is null) x
      left join {report_calendar} s on s.day = x.settles_on
      left join {report_calendar} n on n.day = x.closed_on
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      left join {customers} c on c.tenant_id = x.tenant_id and c.id = x.customer_id`,
    }
  },
})

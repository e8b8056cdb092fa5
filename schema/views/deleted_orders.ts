import { col, common, defineView, involved, joinInvolved, selectInvolved, takes } from '../view.js'

/** Turned around, and not a plain negative, so that both follow `report.unlisted`: what it leaves out counts as deleted. */
const isDeleted = 'not (o._deleted_at is null)'
const deletedAt = 'coalesce(o._deleted_at, o._unlisted_at)'

export default defineView({
  name: 'deleted_orders',
  doc: 'Orders that were deleted at the source, with the money that they had when they were last read. No other view but payments_ledger tells of them.',
  grain: 'one deleted repair order',
  columns: {
    deleted_on: col.day.always(
      "The day shopsync found it deleted, in the shop's time zone: when that happened, the source doesn't tell.",
    ),
    closed_on: col.day("The day it was closed, in the shop's time zone; null if it was no invoice."),
    created_on: col.day("The day it was created, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.unique('Key of the repair order: TENANT-ID. Unique.'),
    number: col.integer('Its number.'),
    state: col.text('`estimate`, `in_progress` or `invoice`, as last read.'),
    ...involved,
    sales_cents: col.cents.always('Its sales, before supply fee and taxes.'),
    total_cents: col.cents('Its total; null if a part of it is unknown.'),
    paid_cents: col.cents.always('The payments on it. Nobody knows from this whether they were paid back.'),
    deleted_at: col.timestamp.always(
      'When shopsync found it deleted; with `report.unlisted` as `leave out`, also no longer listed.',
    ),
    deleted_at_local: col.text.always("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    'select shop_key, shop_name, state, count(*) as orders, sum(sales_cents) as sales_cents, sum(paid_cents) as paid_cents from deleted_orders group by shop_key, shop_name, state order by shop_name, shop_key, state',
  build: (q) => {
    const deleted = q.shopDay('d', 'o.tenant_id', 'o.shop_id', deletedAt)
    return {
      select: {
        ...selectInvolved(q),
        ...takes('o', 'closed_on', 'created_on', 'repair_order_id', 'repair_order_key', 'number', 'state'),
        ...takes('o', 'sales_cents', 'total_cents', 'paid_cents'),
        deleted_on: deleted.day,
        deleted_at: deletedAt,
        deleted_at_local: deleted.local,
      },
      from: `{repair_order_totals} o
      ${joinInvolved} ${deleted.join}
      where ${isDeleted}`,
    }
  },
})

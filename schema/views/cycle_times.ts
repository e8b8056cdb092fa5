import { isLate } from '../open.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'cycle_times',
  doc: 'How long repair orders take at each step, and whether they were late.',
  grain: 'one live repair order',
  columns: {
    closed_on: col.day("The day the order was closed, in the shop's time zone; null until then."),
    created_on: col.day("The day the order was created, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.unique('Key of the repair order: TENANT-ID. Unique.'),
    number: col.integer('Its number.'),
    state: col.text('`estimate`, `in_progress` or `invoice`.'),
    minutes_to_start: col.minutes('From creation to start, rounded down; null if either time is missing.'),
    minutes_in_work: col.minutes('From start to close, rounded down; null if either time is missing.'),
    minutes_to_pick_up: col.minutes('From close to pick-up, rounded down; null if either time is missing.'),
    minutes_in_all: col.minutes('From creation to pick-up, rounded down; null if either time is missing.'),
    due_out_at: col.timestamp('When the vehicle was due.'),
    is_late: col.boolean(
      'Whether it was closed after `due_out_at`, or is still open past it; null if there is no `due_out_at`.',
    ),
    minutes_to_close: col.minutes(
      'From creation to close, rounded down, whether or not the start is known; null if either time is missing.',
    ),
    due_out_on: col.day("The day the vehicle was due, in the shop's time zone."),
    due_out_at_local: col.text("When it was due, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    "select shop_key, shop_name, count(*) as invoices, sum(minutes_in_work) as minutes_in_work, sum(case when is_late then 1 else 0 end) as late from cycle_times where state = 'invoice' group by shop_key, shop_name order by shop_name, shop_key",
  build: (q) => ({
    select: {
      closed_on: 'o.closed_on',
      created_on: 'o.created_on',
      tenant_id: 'o.tenant_id',
      tenant_name: q.tenantName('o.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      repair_order_id: 'o.repair_order_id',
      repair_order_key: 'o.repair_order_key',
      number: 'o.number',
      state: 'o.state',
      minutes_to_start: 'o.minutes_to_start',
      minutes_in_work: 'o.minutes_in_work',
      minutes_to_pick_up: 'o.minutes_to_pick_up',
      minutes_in_all: q.minutes('r.created_at', 'r.picked_up_at'),
      due_out_at: 'r.due_out_at',
      is_late: isLate(q, 'r'),
      minutes_to_close: 'o.minutes_to_close',
      due_out_on: 'o.due_out_on',
      due_out_at_local: 'o.due_out_at_local',
    },
    from: `{repair_order_totals} o
      left join {repair_orders} r on r.tenant_id = o.tenant_id and r.id = o.repair_order_id
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      where o._deleted_at is null`,
  }),
})

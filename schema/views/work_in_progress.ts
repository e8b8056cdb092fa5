import { isLate } from '../open.js'
import { col, common, defineView, involved, joinInvolved, selectInvolved } from '../view.js'

export default defineView({
  name: 'work_in_progress',
  doc: 'What is open now: estimates and orders in progress, with their amounts and how long they have been open.',
  grain: 'one live repair order that is not an invoice',
  columns: {
    created_on: col.day("The day the order was created, in the shop's time zone."),
    started_on: col.day("The day the order was started, in the shop's time zone; null for estimates."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.unique('Key of the repair order: TENANT-ID. Unique.'),
    number: col.integer('Its number.'),
    state: col.text.always('`estimate` or `in_progress`.'),
    status_id: col.id('Its status.'),
    status_name: col.text('Name of the status.'),
    ...involved,
    created_at: col.timestamp('When it was created.'),
    due_out_at: col.timestamp('When the vehicle is due.'),
    sales_cents: col.cents.always('Its total so far, before supply fee and taxes.'),
    minutes_open: col.minutes('Whole minutes from its start (for an estimate, its creation) until now.'),
    is_late: col.boolean('Whether it is past `due_out_at`; null if there is none.'),
    is_estimate: col.boolean.always('Whether it is still an estimate: not sold, and no work begun.'),
    created_at_local: col.text("When it was created, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    started_at: col.timestamp('When work began.'),
    started_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    due_out_on: col.day("The day the vehicle is due, in the shop's time zone."),
    due_out_at_local: col.text("When it is due, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    'select shop_key, shop_name, count(*) as orders, sum(sales_cents) as sales_cents from work_in_progress where not is_estimate group by shop_key, shop_name order by shop_name, shop_key',
  build: (q) => ({
    select: {
      created_on: 'o.created_on',
      started_on: 'o.started_on',
      ...selectInvolved(q),
      repair_order_id: 'o.repair_order_id',
      repair_order_key: 'o.repair_order_key',
      number: 'o.number',
      state: 'o.state',
      status_id: 'o.status_id',
      status_name: q.name('statuses', 'u', 'o.status_id'),
      created_at: 'r.created_at',
      due_out_at: 'r.due_out_at',
      sales_cents: 'o.sales_cents',
      minutes_open: q.minutes('coalesce(r.started_at, r.created_at)', q.now),
      is_late: isLate(q, 'r'),
      is_estimate: "o.state = 'estimate'",
      created_at_local: 'o.created_at_local',
      started_at: 'r.started_at',
      started_at_local: 'o.started_at_local',
      due_out_on: 'o.due_out_on',
      due_out_at_local: 'o.due_out_at_local',
    },
    from: `{repair_order_totals} o
      left join {repair_orders} r on r.tenant_id = o.tenant_id and r.id = o.repair_order_id
      left join {statuses} u on u.tenant_id = o.tenant_id and u.id = o.status_id
      ${joinInvolved}
      where o._deleted_at is null and o.state in ('estimate', 'in_progress')`,
  }),
})

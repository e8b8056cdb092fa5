import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

const begins = (q: ViewWords): JoinedDay => q.shopDay('d', 'a.tenant_id', 'a.shop_id', 'a.start_at')
const booked = (q: ViewWords): JoinedDay => q.shopDay('b', 'a.tenant_id', 'a.shop_id', 'a.created_at')

export default defineView({
  name: 'appointment_load',
  doc: "Appointments in the shops' calendars: their length, and whether the customer came.",
  grain: 'one appointment',
  columns: {
    day: col.day("The day the appointment begins, in the shop's time zone."),
    ...common,
    appointment_id: col.id.always('The appointment.'),
    appointment_key: col.text.unique('Key of the appointment: TENANT-ID. Unique.'),
    staff_id: col.id('The assigned technician; null if nobody is assigned.'),
    staff_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
    staff_name: col.text('Name of the technician.', { personal: true }),
    title: col.text('Title.', { personal: true }),
    start_at: col.timestamp('Start.'),
    minutes: col.minutes('Whole minutes from start to end, rounded down; null if either time is missing.'),
    repair_order_id: col.id('The order it is for.'),
    repair_order_key: col.text('Key of that order: TENANT-ID.'),
    outcome: col.text.always(
      '`came`: its order was started. `work not begun`: the time has passed, and work on its order has not begun; the customer may have come. `to come`: it is in the future. `no order`: it has none. `order gone`: the order is deleted or unknown.',
    ),
    start_at_local: col.text("Start, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    created_on: col.day("The day it was booked, in the shop's time zone."),
    created_at: col.timestamp('When it was booked.'),
    created_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    order_created_on: col.day("The day its order was created, in the time zone of the order's shop."),
    work_begun_on: col.day(
      "The day work on its order began, in the time zone of the order's shop; null if it has not begun.",
    ),
  },
  example:
    'select staff_key, staff_name, sum(minutes) as minutes from appointment_load group by staff_key, staff_name order by minutes desc, staff_key',
  build: (q) => ({
    select: {
      day: begins(q).day,
      tenant_id: 'a.tenant_id',
      tenant_name: q.tenantName('a.tenant_id'),
      shop_id: 'a.shop_id',
      shop_key: q.key('a.tenant_id', 'a.shop_id'),
      shop_name: q.name('shops', 'h', 'a.shop_id'),
      appointment_id: 'a.id',
      appointment_key: q.key('a.tenant_id', 'a.id'),
      staff_id: 'a.staff_id',
      staff_key: q.key('a.tenant_id', 'a.staff_id'),
      staff_name: q.name('staffs', 't', 'a.staff_id'),
      title: 'a.title',
      start_at: 'a.start_at',
      minutes: q.minutes('a.start_at', 'a.end_at'),
      repair_order_id: 'a.repair_order_id',
      repair_order_key: q.key('a.tenant_id', 'a.repair_order_id'),
      outcome: `case when a.repair_order_id is null then 'no order' when r.id is null then 'order gone'
        when r.started_at is not null then 'came' when a.start_at > ${q.now} then 'to come' else 'work not begun' end`,
      start_at_local: begins(q).local,
      created_on: booked(q).day,
      created_at: 'a.created_at',
      created_at_local: booked(q).local,
      order_created_on: 'o.created_on',
      work_begun_on: 'o.started_on',
    },
    from: `{appointments} a
      left join {repair_orders} r on r.tenant_id = a.tenant_id and r.id = a.repair_order_id and r._deleted_at is null
      left join {repair_order_totals} o on o.tenant_id = r.tenant_id and o.repair_order_id = r.id
      left join {shops} h on h.tenant_id = a.tenant_id and h.id = a.shop_id
      left join {staffs} t on t.tenant_id = a.tenant_id and t.id = a.staff_id ${begins(q).join} ${booked(q).join}
      where a._deleted_at is null`,
  }),
})

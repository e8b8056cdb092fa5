import { col, common, defineView, takes, type ViewWords } from '../view.js'

const at = (q: ViewWords, alias: string, instant: string) =>
  q.shopDay(alias, 'a.tenant_id', 'o.shop_id', instant)

export default defineView({
  name: 'handovers',
  doc: 'Transfers of repair orders between staff: from whom, to whom, and whether they were accepted.',
  grain: 'one transfer of a repair order',
  columns: {
    day: col.day("The day of the transfer, in the shop's time zone."),
    ...common,
    assignment_id: col.id.always('The transfer.'),
    assignment_key: col.text.unique('Key of the transfer: TENANT-ID. Unique.'),
    repair_order_id: col.id('The repair order.'),
    repair_order_key: col.text('Key of the repair order: TENANT-ID.'),
    number: col.integer('Number of the repair order.'),
    from_staff_id: col.id('From whom.'),
    from_staff_key: col.key('dim_staffs', 'Key of that member of staff: TENANT-ID.'),
    from_staff_name: col.text('Name of that member of staff.', { personal: true }),
    to_staff_id: col.id('To whom.'),
    to_staff_key: col.key('dim_staffs', 'Key of that member of staff: TENANT-ID.'),
    to_staff_name: col.text('Name of that member of staff.', { personal: true }),
    message: col.text('Message to the other.', { personal: true }),
    outcome: col.text.always('`accepted`, `cancelled`, or `open` if neither.'),
    created_at: col.timestamp('When it was offered.'),
    created_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    accepted_at: col.timestamp('When it was accepted; null if it was not.'),
    accepted_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    cancelled_at: col.timestamp('When it was cancelled; null if it was not.'),
    cancelled_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    minutes_to_accept: col.minutes('Whole minutes until it was accepted, rounded down; null if it was not.'),
  },
  example:
    'select to_staff_key, to_staff_name, count(*) as handovers, sum(minutes_to_accept) as minutes_to_accept from handovers group by to_staff_key, to_staff_name order by handovers desc, to_staff_key',
  build: (q) => {
    const [made, accepted, cancelled] = [
      at(q, 'd', 'a.created_at'),
      at(q, 'y', 'a.accepted_at'),
      at(q, 'z', 'a.cancelled_at'),
    ]
    return {
      select: {
        day: made.day,
        tenant_id: 'a.tenant_id',
        tenant_name: q.tenantName('a.tenant_id'),
        shop_id: 'o.shop_id',
        shop_key: q.key('o.tenant_id', 'o.shop_id'),
        shop_name: q.name('shops', 'h', 'o.shop_id'),
        assignment_id: 'a.id',
        assignment_key: q.key('a.tenant_id', 'a.id'),
        repair_order_id: 'a.repair_order_id',
        repair_order_key: q.key('a.tenant_id', 'a.repair_order_id'),
        number: 'o.number',
        from_staff_id: 'a.transfer_from_id',
        from_staff_key: q.key('a.tenant_id', 'a.transfer_from_id'),
        from_staff_name: q.name('staffs', 'f', 'a.transfer_from_id'),
        to_staff_id: 'a.transfer_to_id',
        to_staff_key: q.key('a.tenant_id', 'a.transfer_to_id'),
        to_staff_name: q.name('staffs', 't', 'a.transfer_to_id'),
        ...takes('a', 'message', 'created_at', 'accepted_at', 'cancelled_at'),
        outcome:
          "case when a.cancelled_at is not null then 'cancelled' when a.accepted_at is not null then 'accepted' else 'open' end",
        created_at_local: made.local,
        accepted_at_local: accepted.local,
        cancelled_at_local: cancelled.local,
        minutes_to_accept: q.minutes('a.created_at', 'a.accepted_at'),
      },
      from: `{assignments} a
      left join {repair_order_totals} o on o.tenant_id = a.tenant_id and o.repair_order_id = a.repair_order_id and o._deleted_at is null
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {staffs} f on f.tenant_id = a.tenant_id and f.id = a.transfer_from_id
      left join {staffs} t on t.tenant_id = a.tenant_id and t.id = a.transfer_to_id
      ${made.join} ${accepted.join} ${cancelled.join}
      where a._deleted_at is null`,
    }
  },
})

import { col, common, defineView, takes } from '../view.js'

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
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    vehicle_id: col.id('The vehicle.'),
    vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
    vehicle_name: col.text('Name of the vehicle.', { personal: true }),
    technician_id: col.id('The assigned technician.'),
    technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
    technician_name: col.text('Name of the technician.', { personal: true }),
    advisor_id: col.id('The service advisor.'),
    advisor_key: col.key('dim_staffs', 'Key of the service advisor: TENANT-ID.'),
    advisor_name: col.text('Name of the service advisor.', { personal: true }),
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
        ...takes(
          'o',
          'closed_on',
          'created_on',
          'tenant_id',
          'shop_id',
          'repair_order_id',
          'repair_order_key',
        ),
        ...takes('o', 'number', 'state', 'customer_id', 'vehicle_id', 'technician_id', 'advisor_id'),
        ...takes('o', 'sales_cents', 'total_cents', 'paid_cents'),
        deleted_on: deleted.day,
        tenant_name: q.tenantName('o.tenant_id'),
        shop_key: q.key('o.tenant_id', 'o.shop_id'),
        shop_name: q.name('shops', 'h', 'o.shop_id'),
        customer_key: q.key('o.tenant_id', 'o.customer_id'),
        customer_name: q.name('customers', 'c', 'o.customer_id'),
        vehicle_key: q.key('o.tenant_id', 'o.vehicle_id'),
        vehicle_name: q.name('vehicles', 'v', 'o.vehicle_id'),
        technician_key: q.key('o.tenant_id', 'o.technician_id'),
        technician_name: q.name('staffs', 't', 'o.technician_id'),
        advisor_key: q.key('o.tenant_id', 'o.advisor_id'),
        advisor_name: q.name('staffs', 'a', 'o.advisor_id'),
        deleted_at: deletedAt,
        deleted_at_local: deleted.local,
      },
      from: `{repair_order_totals} o
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {vehicles} v on v.tenant_id = o.tenant_id and v.id = o.vehicle_id
      left join {staffs} t on t.tenant_id = o.tenant_id and t.id = o.technician_id
      left join {staffs} a on a.tenant_id = o.tenant_id and a.id = o.advisor_id ${deleted.join}
      where ${isDeleted}`,
    }
  },
})

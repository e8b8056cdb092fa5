import { isLate } from '../open.js'
import { col, common, defineView } from '../view.js'

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
    created_at: col.timestamp('When it was created.'),
    due_out_at: col.timestamp('When the vehicle is due.'),
    sales_cents: col.cents.always('Its total so far, before supply fee and taxes.'),
    minutes_open: col.minutes('Whole minutes from its start (for an estimate, its creation) until now.'),
    is_late: col.boolean('Whether it is past `due_out_at`; null if there is none.'),
    is_estimate: col.boolean.always('Whether it is still an estimate: not sold, and no work begun.'),
  },
  example:
    'select shop_key, shop_name, count(*) as orders, sum(sales_cents) as sales_cents from work_in_progress where not is_estimate group by shop_key, shop_name order by shop_name, shop_key',
  build: (q) => ({
    select: {
      created_on: 'o.created_on',
      started_on: 'o.started_on',
      tenant_id: 'o.tenant_id',
      tenant_name: q.tenantName('o.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      repair_order_id: 'o.repair_order_id',
      repair_order_key: 'o.repair_order_key',
      number: 'o.number',
      state: 'o.state',
      status_id: 'o.status_id',
      status_name: q.name('statuses', 'u', 'o.status_id'),
      customer_id: 'o.customer_id',
      customer_key: q.key('o.tenant_id', 'o.customer_id'),
      customer_name: q.name('customers', 'c', 'o.customer_id'),
      vehicle_id: 'o.vehicle_id',
      vehicle_key: q.key('o.tenant_id', 'o.vehicle_id'),
      vehicle_name: q.name('vehicles', 'v', 'o.vehicle_id'),
      technician_id: 'o.technician_id',
      technician_key: q.key('o.tenant_id', 'o.technician_id'),
      technician_name: q.name('staffs', 't', 'o.technician_id'),
      advisor_id: 'o.advisor_id',
      advisor_key: q.key('o.tenant_id', 'o.advisor_id'),
      advisor_name: q.name('staffs', 'a', 'o.advisor_id'),
      created_at: 'r.created_at',
      due_out_at: 'r.due_out_at',
      sales_cents: 'o.sales_cents',
      minutes_open: q.minutes('coalesce(r.started_at, r.created_at)', q.now),
      is_late: isLate(q, 'r'),
      is_estimate: "o.state = 'estimate'",
    },
    from: `{repair_order_totals} o
      left join {repair_orders} r on r.tenant_id = o.tenant_id and r.id = o.repair_order_id
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {statuses} u on u.tenant_id = o.tenant_id and u.id = o.status_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {vehicles} v on v.tenant_id = o.tenant_id and v.id = o.vehicle_id
      left join {staffs} t on t.tenant_id = o.tenant_id and t.id = o.technician_id
      left join {staffs} a on a.tenant_id = o.tenant_id and a.id = o.advisor_id
      where o._deleted_at is null and o.state in ('estimate', 'in_progress')`,
  }),
})

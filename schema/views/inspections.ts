import { joinOrder } from '../lines.js'
import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'inspections',
  doc: 'What was inspected on repair orders, and the result. Includes estimates and orders in progress: see `state`.',
  grain: 'one inspection of a live repair order',
  columns: {
    closed_on: col.day("The day the order was closed, in the shop's time zone; null until then."),
    created_on: col.day("The day the order was created, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.always('Key of the repair order: TENANT-ID.'),
    number: col.integer('Number of the repair order.'),
    state: col.text('State of the order: `estimate`, `in_progress` or `invoice`.'),
    customer_id: col.id('The customer.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    vehicle_id: col.id('The vehicle.'),
    vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
    technician_id: col.id('The technician of the order.'),
    technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
    technician_name: col.text('Name of the technician.', { personal: true }),
    service_id: col.id.always('The service the inspection is part of.'),
    service_key: col.key.always('service_totals', 'Key of the service: TENANT-ORDER-ID.'),
    service_title: col.text('Title of the service.'),
    inspection_id: col.id.always('The inspection.'),
    inspection_key: col.text.unique('Key of the inspection: TENANT-ORDER-ID. Unique.'),
    name: col.text('What was inspected.'),
    result: col.text('`green`, `yellow`, `red` or `unchecked`.'),
    detail: col.text('Text by staff.', { personal: true }),
    inspected_on: col.day("The day the inspection was last changed, in the shop's time zone."),
    inspected_at: col.timestamp('When it was last changed.'),
    inspected_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    "select name, count(*) as inspections, sum(case when result = 'red' then 1 else 0 end) as red from inspections where result <> 'unchecked' group by name order by red desc, name limit 10",
  build: (q) => {
    const inspected = q.shopDay('d', 'o.tenant_id', 'o.shop_id', 'l.updated_at')
    return {
      select: {
        ...takes('o', 'closed_on', 'created_on', 'tenant_id', 'shop_id', 'repair_order_id'),
        ...takes('o', 'repair_order_key', 'number', 'state', 'customer_id', 'vehicle_id', 'technician_id'),
        tenant_name: q.tenantName('o.tenant_id'),
        shop_key: q.key('o.tenant_id', 'o.shop_id'),
        shop_name: q.name('shops', 'h', 'o.shop_id'),
        customer_key: q.key('o.tenant_id', 'o.customer_id'),
        customer_name: q.name('customers', 'c', 'o.customer_id'),
        vehicle_key: q.key('o.tenant_id', 'o.vehicle_id'),
        technician_key: q.key('o.tenant_id', 'o.technician_id'),
        technician_name: q.name('staffs', 't', 'o.technician_id'),
        service_id: 'l.service_id',
        service_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.service_id'),
        service_title: 's.title',
        inspection_id: 'l.id',
        inspection_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.id'),
        name: 'l.name',
        result: 'l.state',
        detail: 'l.detail',
        inspected_on: inspected.day,
        inspected_at: 'l.updated_at',
        inspected_at_local: inspected.local,
      },
      from: `{repair_order_inspections} l ${joinOrder('l')}
      left join {repair_order_services} s on s.tenant_id = l.tenant_id and s.repair_order_id = l.repair_order_id and s.id = l.service_id
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {staffs} t on t.tenant_id = o.tenant_id and t.id = o.technician_id ${inspected.join}`,
    }
  },
})

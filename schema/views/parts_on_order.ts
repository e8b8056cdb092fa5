import { absurd } from '../derived/billlines.js'
import { joinOrder } from '../lines.js'
import { col, common, defineView, involved, joinInvolved, selectInvolved, takes } from '../view.js'

/**
 * What purchases brought of an item since an order was created. Purchases name no order: what came may be for another one.
 * `distinct` makes SQLite find the few lines of open orders first; else it begins at the purchases, and reads an item's
 * lines on all orders for each.
 */
const received = (sum: string): string => `
      left join (
        select l.tenant_id, l.repair_order_id, l.id, ${sum} as nine
        from (
          select distinct l.tenant_id, l.repair_order_id, l.id, l.part_inventory_id, r.created_at
          from {repair_order_parts} l ${joinOrder('l')}
          join {repair_orders} r on r.tenant_id = o.tenant_id and r.id = o.repair_order_id
          where o.state in ('estimate', 'in_progress')) l
        join {purchase_record_line_items} b on b.tenant_id = l.tenant_id and b.inventory_id = l.part_inventory_id
        join {purchase_records} p on p.tenant_id = b.tenant_id and p.id = b.purchase_record_id
        where p._deleted_at is null and not coalesce(p.is_return, false) and p.created_at >= l.created_at
        group by l.tenant_id, l.repair_order_id, l.id) g on g.tenant_id = l.tenant_id and g.repair_order_id = l.repair_order_id and g.id = l.id`

export default defineView({
  name: 'parts_on_order',
  doc: 'Parts of open orders, each with what is needed, ordered, received and returned of its stock item. The API tells the latter of the item, for all orders together: several orders that wait for one item show the same numbers, so never sum them.',
  grain: 'one part line of a live repair order that is not an invoice',
  columns: {
    created_on: col.day("The day the order was created, in the shop's time zone."),
    started_on: col.day("The day the order was started, in the shop's time zone; null for estimates."),
    due_out_on: col.day("The day the vehicle is due, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.always('Key of the repair order: TENANT-ID.'),
    number: col.integer('Its number.'),
    state: col.text.always('`estimate` or `in_progress`.'),
    is_estimate: col.boolean.always('Whether it is still an estimate: not sold, and no work begun.'),
    ...involved,
    service_id: col.id.always('The service that the part is for.'),
    service_key: col.key.always('service_totals', 'Key of the service: TENANT-ORDER-ID.'),
    part_id: col.id.always('Id of the part line.'),
    part_key: col.text.unique('Key of the part line: TENANT-ORDER-ID. Unique.'),
    brand: col.text('Brand.'),
    part_number: col.text('Part number.'),
    description: col.text('Description.'),
    quantity: col.quantity('Units on this order; null if unknown or out of range.'),
    inventory_id: col.id('The stock item; null if the part names none: then nothing more is known of it.'),
    inventory_key: col.key('inventory_value', 'Key of the stock item: TENANT-ID.'),
    vendor_id: col.id('Primary vendor of the item.'),
    vendor_key: col.key('dim_vendors', 'Key of the primary vendor: TENANT-ID.'),
    vendor_name: col.text('Name of the primary vendor.'),
    needed: col.quantity('Units of the item that orders in progress need (`quantity_needed`).'),
    ordered: col.quantity('Units of it that are ordered for orders in progress (`quantity_ordered`).'),
    received: col.quantity(
      'Units of it on purchases entered since this order was created, returns aside. Purchases name no order: they may be for another one.',
    ),
    returned: col.quantity('Units of it that are on return orders now (`quantity_returned`).'),
    allocated: col.quantity('Units of it that orders in progress have taken (`quantity_in_progress`).'),
    on_hand: col.quantity('Units of it in stock that no order in progress has taken (`quantity_on_hand`).'),
  },
  example:
    'select number, part_number, description, quantity, needed, ordered, received, returned, on_hand from parts_on_order where not is_estimate and needed > 0 order by created_on, part_key limit 10',
  build: (q) => ({
    select: {
      ...selectInvolved(q),
      ...takes('o', 'created_on', 'started_on', 'due_out_on', 'repair_order_id', 'repair_order_key'),
      ...takes('o', 'number', 'state'),
      is_estimate: "o.state = 'estimate'",
      service_id: 'l.service_id',
      service_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.service_id'),
      part_id: 'l.id',
      part_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.id'),
      brand: 'l.brand',
      part_number: 'l.number',
      description: 'l.description',
      quantity: q.units('l.quantity', absurd.units),
      inventory_id: 'l.part_inventory_id',
      inventory_key: q.key('l.tenant_id', 'l.part_inventory_id'),
      vendor_id: 'i.primary_vendor_id',
      vendor_key: q.key('i.tenant_id', 'i.primary_vendor_id'),
      vendor_name: q.name('vendors', 'd', 'i.primary_vendor_id'),
      needed: q.units('i.quantity_needed', absurd.units),
      ordered: q.units('i.quantity_ordered', absurd.units),
      received: q.fromNine(
        '(case when g.id is not null then g.nine when l.part_inventory_id is not null then 0 end)',
      ),
      returned: q.units('i.quantity_returned', absurd.units),
      allocated: q.units('i.quantity_in_progress', absurd.units),
      on_hand: q.units('i.quantity_on_hand', absurd.units),
    },
    from: `{repair_order_parts} l ${joinOrder('l')}
      left join {inventories} i on i.tenant_id = l.tenant_id and i.id = l.part_inventory_id and i._deleted_at is null
      ${received(q.sumNine('b.quantity', absurd.units))}
      ${joinInvolved}
      left join {vendors} d on d.tenant_id = i.tenant_id and d.id = i.primary_vendor_id
      where o.state in ('estimate', 'in_progress')`,
  }),
})

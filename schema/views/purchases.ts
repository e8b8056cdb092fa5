import { absurd } from '../derived/billlines.js'
import { sanePrice, worth } from '../lines.js'
import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

const entered = (q: ViewWords): JoinedDay => q.shopDay('d', 'p.tenant_id', 'p.shop_id', 'p.created_at')

export default defineView({
  name: 'purchases',
  doc: 'Purchases from vendors, line by line. Returns are negative, so sums are net of returns.',
  grain: 'one line of a purchase or return',
  columns: {
    day: col.day("The day the purchase was entered, in the shop's time zone."),
    ...common,
    purchase_record_id: col.id.always('The purchase or return.'),
    purchase_record_key: col.text.always('Key of the purchase or return: TENANT-ID.'),
    position: col.integer.always('Position of the line, from 0.'),
    invoice_number: col.text("The vendor's invoice number."),
    vendor_id: col.id('The vendor.'),
    vendor_key: col.key('dim_vendors', 'Key of the vendor: TENANT-ID.'),
    vendor_name: col.text('Name of the vendor.'),
    is_return: col.boolean.always('Whether it is a return.'),
    inventory_id: col.id('The inventory item.'),
    quantity: col.quantity('Units, negative for returns; null if unknown or out of range.'),
    unit_cost_cents: col.cents('Cost of one unit; null if unknown or out of range.', {
      unit: 'cents per unit',
    }),
    amount_cents: col.cents(
      'Quantity times unit cost, rounded to cents, negative for returns; null if unknown.',
    ),
    payment_type: col.text('Form of payment.'),
    inventory_key: col.key('inventory_value', 'Key of the inventory item: TENANT-ID.'),
    entered_at: col.timestamp('When the purchase was entered.'),
    entered_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
  },
  example:
    'select vendor_key, vendor_name, sum(amount_cents) as amount_cents, count(*) - count(amount_cents) as without_amount from purchases group by vendor_key, vendor_name order by amount_cents desc, vendor_key',
  build: (q) => {
    const units = '(case when p.is_return = true then 0 - abs(l.quantity) else l.quantity end)'
    return {
      select: {
        day: entered(q).day,
        tenant_id: 'p.tenant_id',
        tenant_name: q.tenantName('p.tenant_id'),
        shop_id: 'p.shop_id',
        shop_key: q.key('p.tenant_id', 'p.shop_id'),
        shop_name: q.name('shops', 'h', 'p.shop_id'),
        purchase_record_id: 'p.id',
        purchase_record_key: q.key('p.tenant_id', 'p.id'),
        position: 'l.position',
        invoice_number: 'p.invoice_number',
        vendor_id: 'p.vendor_id',
        vendor_key: q.key('p.tenant_id', 'p.vendor_id'),
        vendor_name: q.name('vendors', 'v', 'p.vendor_id'),
        is_return: 'coalesce(p.is_return, false)',
        inventory_id: 'l.inventory_id',
        quantity: q.units(units, absurd.units),
        unit_cost_cents: sanePrice('l.cost_cents'),
        amount_cents: worth(q, units, 'l.cost_cents'),
        payment_type: 'p.payment_type',
        inventory_key: q.key('p.tenant_id', 'l.inventory_id'),
        entered_at: 'p.created_at',
        entered_at_local: entered(q).local,
      },
      from: `{purchase_records} p
        join {purchase_record_line_items} l on l.tenant_id = p.tenant_id and l.purchase_record_id = p.id
        left join {shops} h on h.tenant_id = p.tenant_id and h.id = p.shop_id
        left join {vendors} v on v.tenant_id = p.tenant_id and v.id = p.vendor_id ${entered(q).join}
        where p._deleted_at is null`,
    }
  },
})

import { absurd } from '../derived/billlines.js'
import { countUnknown, isBelowMinimum, joinOrder, sanePrice, unitsBelowMinimum, worth } from '../lines.js'
import { isInvoice } from '../open.js'
import { joinToday, today, todays } from '../today.js'
import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

/** Not taken back, and no noise; a number that doesn't count tells nothing. */
const isSold = `l.quantity >= 5e-10 and l.quantity < ${absurd.units - 1}.9999999995`

const shown = [
  'tenant_id',
  'id',
  'shop_id',
  'type',
  'brand',
  'number',
  'description',
  'primary_vendor_id',
  'created_at',
]
const counted = ['cost_cents', 'quantity_on_hand', 'quantity_ordered_for_stock', 'min_stock', 'max_stock']

/** With the value of each, which several columns need. */
const items = (q: ViewWords): string =>
  `(select ${[...shown, ...counted].map((name) => `i.${name}`).join(', ')},
        cast(${worth(q, 'i.quantity_on_hand', 'i.cost_cents')} as bigint) as on_hand_cents
        from {inventories} i where i._deleted_at is null) i`

const entered = (q: ViewWords): JoinedDay => q.shopDay('e', 'i.tenant_id', 'i.shop_id', 'i.created_at')

export default defineView({
  name: 'inventory_value',
  doc: 'What the shops have in stock, what it cost them, and how it sells.',
  grain: 'one inventory item of a shop',
  columns: {
    ...common,
    inventory_id: col.id.always('The inventory item.'),
    inventory_key: col.text.unique('Key of the item: TENANT-ID. Unique.'),
    type: col.text('`PartInventory` or `CoreInventory`.'),
    brand: col.text('Brand.'),
    part_number: col.text('Part number.'),
    description: col.text('Description.'),
    vendor_id: col.id('Primary vendor.'),
    vendor_key: col.key('dim_vendors', 'Key of the primary vendor: TENANT-ID.'),
    vendor_name: col.text('Name of the primary vendor.'),
    quantity_on_hand: col.quantity('Units in stock and not allocated to work in progress.'),
    min_stock: col.quantity('The fewest units that should be in stock.'),
    cost_cents: col.cents('Cost of one unit; null if unknown or out of range.', { unit: 'cents per unit' }),
    on_hand_cents: col.cents('Units on hand times cost, rounded to cents; null if either is unknown.'),
    below_min: col.boolean(
      'Whether units on hand plus units ordered for stock are below the minimum; null if any of the three is unknown.',
    ),
    sold_12_months: col.quantity(
      'Units sold on invoices of the last 365 days, minus those taken back, such as returned cores. See `last_sold_on` for what does not move.',
    ),
    turns: col.number(
      'Cost of those units divided by the value on hand, two decimals; null if there is no stock, or too little to go by (`shop_is_new`).',
    ),
    sold_unknown: col.count.always(
      'Lines of those invoices whose quantity is unknown or out of range. They are in neither `sold_12_months` nor `turns`.',
    ),
    sold_without_cost: col.count.always(
      'Lines of those invoices whose cost is unknown. They are not in `turns`.',
    ),
    sold_cost_cents: col.cents.always(
      'Known cost of the units sold on invoices of the last 365 days. `turns` divides this by the value on hand.',
    ),
    max_stock: col.quantity('The most units that should be in stock.'),
    quantity_ordered_for_stock: col.quantity('Units ordered for stock.'),
    units_short: col.quantity(
      'Units missing up to the minimum: the minimum less units on hand and units ordered for stock, 0 if nothing is missing; null if any of the three is unknown.',
    ),
    last_sold_on: col.day(
      "The day of the last invoice on which more than zero units of it were sold, in the shop's time zone; null if there is none. Lines below zero, such as returned cores, are no sales.",
    ),
    shop_is_new: col.boolean.always(
      'Whether its shop closed its first invoice less than 60 days ago, or none yet: a year of sales can not be told from that.',
    ),
    created_on: col.day(
      "The day the item was entered, in the shop's time zone. What was entered lately and hasn't sold yet is no dead stock.",
    ),
  },
  example:
    'select shop_key, shop_name, sum(on_hand_cents) as on_hand_cents, count(*) - count(on_hand_cents) as without_value from inventory_value group by shop_key, shop_name order by shop_name, shop_key',
  build: (q) => {
    const isNew = 'coalesce(f.days < 60, true)'
    const sold = 'coalesce(s.cost_cents, 0)'
    // Rounded half away from zero.
    const hundredfold = q.quotient(
      `(200 * ${sold} + case when ${sold} < 0 then 0 - i.on_hand_cents else i.on_hand_cents end)`,
      '(2 * i.on_hand_cents)',
    )
    return {
      select: {
        tenant_id: 'i.tenant_id',
        tenant_name: q.tenantName('i.tenant_id'),
        shop_id: 'i.shop_id',
        shop_key: q.key('i.tenant_id', 'i.shop_id'),
        shop_name: q.name('shops', 'h', 'i.shop_id'),
        inventory_id: 'i.id',
        inventory_key: q.key('i.tenant_id', 'i.id'),
        type: 'i.type',
        brand: 'i.brand',
        part_number: 'i.number',
        description: 'i.description',
        vendor_id: 'i.primary_vendor_id',
        vendor_key: q.key('i.tenant_id', 'i.primary_vendor_id'),
        vendor_name: q.name('vendors', 'v', 'i.primary_vendor_id'),
        quantity_on_hand: q.units('i.quantity_on_hand', absurd.units),
        min_stock: q.units('i.min_stock', absurd.units),
        cost_cents: sanePrice('i.cost_cents'),
        on_hand_cents: 'i.on_hand_cents',
        below_min: isBelowMinimum(q, 'i'),
        // Distinguishes no line from an absurd sum.
        sold_12_months: q.fromNine('(case when s.inventory_id is null then 0 else s.units_nine end)'),
        turns: `case when i.on_hand_cents > 0 and not ${isNew} then ${hundredfold} / 100.0 end`,
        sold_unknown: 'coalesce(s.units_unknown, 0)',
        sold_without_cost: 'coalesce(s.without_cost, 0)',
        sold_cost_cents: 'coalesce(s.cost_cents, 0)',
        max_stock: q.units('i.max_stock', absurd.units),
        quantity_ordered_for_stock: q.units('i.quantity_ordered_for_stock', absurd.units),
        units_short: unitsBelowMinimum(q, 'i'),
        // A day that is computed has no type, so the table's day is shown.
        last_sold_on: 'm.day',
        shop_is_new: isNew,
        created_on: entered(q).day,
      },
      from: `${items(q)}
        left join (with ${todays(q)}
        select l.tenant_id, l.part_inventory_id as inventory_id,
          ${q.sumNine('l.quantity', absurd.units)} as units_nine, ${countUnknown(q, 'l.quantity', absurd.units)} as units_unknown,
          coalesce(sum(l._cost_cents), 0) as cost_cents, count(*) - count(l._cost_cents) as without_cost
        from {repair_order_parts} l ${joinOrder('l')} ${joinToday('o.tenant_id', 'o.shop_id')}
        where o.state = 'invoice' and l.part_inventory_id is not null and ${q.dayNumber('o.closed_on')} >= ${today} - 365
        group by l.tenant_id, l.part_inventory_id) s on s.tenant_id = i.tenant_id and s.inventory_id = i.id
        left join (
        select l.tenant_id, l.part_inventory_id as inventory_id, max(o.closed_on) as last_day
        from {repair_order_parts} l ${joinOrder('l')}
        where o.state = 'invoice' and l.part_inventory_id is not null and ${isSold}
        group by l.tenant_id, l.part_inventory_id) n on n.tenant_id = i.tenant_id and n.inventory_id = i.id
        left join {report_calendar} m on m.day = n.last_day
        left join (with ${todays(q)}
        select y.tenant_id, y.shop_id, ${today} - ${q.dayNumber('y.first_day')} as days
        from (
          select o.tenant_id, o.shop_id, min(o.closed_on) as first_day
          from {repair_order_totals} o where ${isInvoice('o')} group by o.tenant_id, o.shop_id) y
          ${joinToday('y.tenant_id', 'y.shop_id')}) f on f.tenant_id = i.tenant_id and f.shop_id = i.shop_id
        left join {shops} h on h.tenant_id = i.tenant_id and h.id = i.shop_id
        left join {vendors} v on v.tenant_id = i.tenant_id and v.id = i.primary_vendor_id ${entered(q).join}`,
    }
  },
})

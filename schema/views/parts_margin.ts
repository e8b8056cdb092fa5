import { absurd } from '../derived/billlines.js'
import { isPrice, joinOrder, sanePrice } from '../lines.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'parts_margin',
  doc: 'Parts sold on invoices, with cost and margin, before discounts. Average markups within a `cost_band`: cheap parts carry higher ones.',
  grain: 'one part line of a live invoice',
  columns: {
    day: col.day("The day the invoice was closed, in the shop's time zone."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.always('Key of the repair order: TENANT-ID.'),
    part_id: col.id.always('Id of the part line.'),
    part_key: col.text.unique('Key of the part line: TENANT-ORDER-ID. Unique.'),
    inventory_id: col.id('The inventory item, if the part came from stock.'),
    brand: col.text('Brand.'),
    part_number: col.text('Part number.'),
    description: col.text('Description.'),
    quantity: col.quantity('Units; null if unknown or out of range.'),
    quoted_price_cents: col.cents('Price of one unit; null if unknown or out of range.', {
      unit: 'cents per unit',
    }),
    unit_cost_cents: col.cents('Cost of one unit, wholesale; null if unknown or out of range.', {
      unit: 'cents per unit',
    }),
    sold_cents: col.cents.always('Quantity times price, rounded to cents; 0 if either is unknown.'),
    cost_cents: col.cents('Quantity times unit cost, rounded to cents; null if unknown.'),
    margin_cents: col.cents('Price minus cost; null if either is unknown.'),
    cost_band: col.text.always(
      "Band of the unit's cost in dollars: `0 under 5`, `1 5 to 20`, `2 20 to 50`, `3 50 to 100`, `4 100 to 250`, `5 250 and more`, `unknown`.",
    ),
    net_cents: col.cents.always(
      "`sold_cents` minus the line's share of the order's discount on parts: what it adds to the sales of its order.",
    ),
    net_margin_cents: col.cents('`net_cents` minus cost; null if either is unknown.'),
    net_where_margin_known_cents: col.cents.always(
      '`net_cents` if the margin is known, otherwise 0. A margin after discount divides `net_margin_cents` by this.',
    ),
    inventory_key: col.key('inventory_value', 'Key of the inventory item: TENANT-ID.'),
    sold_where_margin_known_cents: col.cents.always(
      '`sold_cents` if the margin is known, otherwise 0. A margin before discount divides `margin_cents` by this.',
    ),
  },
  example:
    'select cost_band, sum(sold_where_margin_known_cents) as sold_where_margin_known_cents, sum(margin_cents) as margin_cents, count(*) - count(margin_cents) as without_margin from parts_margin group by cost_band order by cost_band',
  build: (q) => ({
    select: {
      day: 'o.closed_on',
      tenant_id: 'o.tenant_id',
      tenant_name: q.tenantName('o.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      repair_order_id: 'o.repair_order_id',
      repair_order_key: 'o.repair_order_key',
      part_id: 'l.id',
      part_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.id'),
      inventory_id: 'l.part_inventory_id',
      brand: 'l.brand',
      part_number: 'l.number',
      description: 'l.description',
      quantity: q.units('l.quantity', absurd.units),
      quoted_price_cents: sanePrice('l.quoted_price_cents'),
      unit_cost_cents: sanePrice('l.cost_cents'),
      sold_cents: 'coalesce(l._amount_cents, 0)',
      cost_cents: 'l._cost_cents',
      margin_cents: 'l._amount_cents - l._cost_cents',
      cost_band: `case when not coalesce(${isPrice('l.cost_cents')}, false) then 'unknown' when l.cost_cents < 500 then '0 under 5'
        when l.cost_cents < 2000 then '1 5 to 20' when l.cost_cents < 5000 then '2 20 to 50'
        when l.cost_cents < 10000 then '3 50 to 100' when l.cost_cents < 25000 then '4 100 to 250'
        else '5 250 and more' end`,
      net_cents: 'coalesce(l._amount_cents - l._discount_cents, 0)',
      net_margin_cents: 'l._amount_cents - l._discount_cents - l._cost_cents',
      net_where_margin_known_cents:
        'case when l._cost_cents is null then 0 else coalesce(l._amount_cents - l._discount_cents, 0) end',
      inventory_key: q.key('l.tenant_id', 'l.part_inventory_id'),
      sold_where_margin_known_cents:
        'case when l._cost_cents is null then 0 else coalesce(l._amount_cents, 0) end',
    },
    from: `{repair_order_parts} l ${joinOrder('l')}
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      where o.state = 'invoice'`,
  }),
})

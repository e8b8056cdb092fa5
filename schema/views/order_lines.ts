import { absurd } from '../derived/billlines.js'
import { joinOrder, sane, sanePrice } from '../lines.js'
import { col, common, defineView, takes, type ViewQuery, type ViewWords } from '../view.js'

const columns = {
  closed_on: col.day("The day the order was closed, in the shop's time zone; null until then."),
  created_on: col.day("The day the order was created, in the shop's time zone."),
  ...common,
  repair_order_id: col.id.always('The repair order.'),
  repair_order_key: col.text.always('Key of the repair order: TENANT-ID.'),
  state: col.text('State of the order: `estimate`, `in_progress` or `invoice`.'),
  service_id: col.id.always('The service the line is part of.'),
  kind: col.text.always('`labor`, `part`, `sublet` or `hazmat`.'),
  line_id: col.id.always('Id of the line. Unique among lines of the same kind.'),
  line_key: col.text.unique('Key of the line: KIND-TENANT-ORDER-ID. Unique.'),
  description: col.text(
    'What was done or sold: the name of a labor, sublet or hazmat, or the description of a part.',
  ),
  technician_id: col.id('Technician of a labor; null for other kinds.'),
  technician_key: col.key('dim_staffs', 'Key of the technician: TENANT-ID.'),
  technician_name: col.text('Name of the technician.', { personal: true }),
  inventory_id: col.id('Inventory item of a part; null for other kinds.'),
  brand: col.text('Brand of a part; null for other kinds.'),
  quantity: col.quantity(
    'Hours of a labor, units of a part or hazmat, 1 for a sublet; null if unknown or out of range.',
  ),
  price_cents: col.cents(
    'Price of one unit: the labor rate of the service, or the price of a part, sublet or hazmat; null if unknown or out of range.',
    { unit: 'cents per unit' },
  ),
  amount_cents: col.cents.always(
    'Quantity times price, rounded to cents, before discount and tax; 0 if either is unknown.',
  ),
  discount_cents: col.cents.always(
    "The line's share of the order's discount on labor or parts. The shares sum to the discount exactly.",
  ),
  net_cents: col.cents.always('Amount minus discount: what the line adds to the sales of its order.'),
  cost_cents: col.cents(
    'Quantity times unit cost of a part, or the cost of a sublet; null if unknown, and for labor and hazmats, which have no cost.',
  ),
  price_unknown: col.boolean.always(
    'true if the quantity or price is unknown, which makes the amount 0 and the total of the order unknown.',
  ),
  taxable: col.boolean.always("Whether it is taxable; true if the API doesn't say."),
  service_key: col.key.always('service_totals', 'Key of the service: TENANT-ORDER-ID.'),
  tax_cents: col.cents(
    "The line's share of the order's tax on lines of its kind. The shares sum to that tax exactly (for parts, excluding the tax on the supply fee). Null if that tax is unknown.",
  ),
  net_where_cost_known_cents: col.cents.always(
    'Amount minus discount if the cost is known, otherwise 0. A margin subtracts the cost from this.',
  ),
  inventory_key: col.key('inventory_value', 'Key of the inventory item: TENANT-ID.'),
  vendor_id: col.id('Vendor of a sublet, else null.'),
  vendor_key: col.key('dim_vendors', "Key of a sublet's vendor: TENANT-ID."),
  vendor_name: col.text("Name of a sublet's vendor."),
  gross_profit_cents: col.cents(
    'Amount minus discount and cost; labor and hazmats, which have no cost, count as 0 there. Null if the price or cost is unknown.',
  ),
  net_where_profit_known_cents: col.cents.always(
    '`net_cents` if the gross profit is known, otherwise 0. A margin divides `gross_profit_cents` by this.',
  ),
} as const

/** What differs between the kinds of lines. Each has its rows as `l`. */
interface Kind {
  readonly kind: string
  readonly from: string
  readonly description: string
  readonly quantity: string
  readonly price: string
  /** Its price is the rate of its service. */
  readonly isRated?: boolean
  /** Whether the API shows a cost of such lines. */
  readonly isBought?: boolean
  readonly technician?: string
  readonly inventory?: string
  readonly brand?: string
  readonly vendor?: string
}

const net = 'l._amount_cents - l._discount_cents'
const netWhereCostKnown = `case when l._cost_cents is null then 0 else coalesce(${net}, 0) end`
const unknownId = 'cast(null as bigint)'
const unknownText = 'cast(null as text)'

function linesOf(q: ViewWords, given: Kind): ViewQuery<keyof typeof columns> {
  const { kind, technician, inventory, vendor, from } = given
  const vendors = `left join {vendors} v on v.tenant_id = l.tenant_id and v.id = ${vendor}`
  // With an inner join, Postgres expects two rows where all lines have one, and loops over all that joins them.
  const rates = `left join {repair_order_services} s on s.tenant_id = l.tenant_id and s.repair_order_id = l.repair_order_id and s.id = l.service_id\n      `
  const staffs = `left join {staffs} t on t.tenant_id = l.tenant_id and t.id = ${technician}`
  return {
    select: {
      ...takes('o', 'closed_on', 'created_on', 'tenant_id', 'shop_id', 'repair_order_id'),
      ...takes('o', 'repair_order_key', 'state'),
      tenant_name: q.tenantName('o.tenant_id'),
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      service_id: 'l.service_id',
      kind: `'${kind}'`,
      line_id: 'l.id',
      line_key: `'${kind}-' || ${q.key('l.tenant_id', 'l.repair_order_id', 'l.id')}`,
      description: given.description,
      technician_id: technician ?? unknownId,
      technician_key: technician ? q.key('l.tenant_id', technician) : unknownText,
      technician_name: technician ? q.name('staffs', 't', technician) : unknownText,
      inventory_id: inventory ?? unknownId,
      brand: given.brand ?? unknownText,
      quantity: given.quantity,
      price_cents: given.price,
      amount_cents: 'coalesce(l._amount_cents, 0)',
      discount_cents: 'coalesce(l._discount_cents, 0)',
      net_cents: `coalesce(${net}, 0)`,
      cost_cents: 'l._cost_cents',
      price_unknown: 'l._amount_cents is null',
      taxable: 'coalesce(l.taxable, true)',
      service_key: q.key('l.tenant_id', 'l.repair_order_id', 'l.service_id'),
      tax_cents: 'l._tax_cents',
      net_where_cost_known_cents: netWhereCostKnown,
      inventory_key: inventory ? q.key('l.tenant_id', inventory) : unknownText,
      vendor_id: vendor ?? unknownId,
      vendor_key: vendor ? q.key('l.tenant_id', vendor) : unknownText,
      vendor_name: vendor ? q.name('vendors', 'v', vendor) : unknownText,
      gross_profit_cents: given.isBought ? `${net} - l._cost_cents` : net,
      net_where_profit_known_cents: given.isBought ? netWhereCostKnown : `coalesce(${net}, 0)`,
    },
    from: `${from} ${joinOrder('l')}
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      ${given.isRated ? rates : ''}${technician ? staffs : ''}${vendor ? vendors : ''}`,
  }
}

export default defineView({
  name: 'order_lines',
  doc: 'Repair orders line by line: quantity, price, discount and cost. Includes estimates and orders in progress: see `state`.',
  grain: 'one labor, part, sublet or hazmat of a live repair order',
  columns,
  example: `select kind, sum(net_cents) as net_cents from order_lines where state = 'invoice' group by kind order by kind`,
  build: (q) => [
    linesOf(q, {
      kind: 'labor',
      from: '{repair_order_labors} l',
      isRated: true,
      description: 'l.name',
      quantity: q.units('l.hours', absurd.hours),
      price: sanePrice('s.labor_rate_cents'),
      technician: 'l.technician_id',
    }),
    linesOf(q, {
      kind: 'part',
      isBought: true,
      from: '{repair_order_parts} l',
      description: 'l.description',
      quantity: q.units('l.quantity', absurd.units),
      price: sanePrice('l.quoted_price_cents'),
      inventory: 'l.part_inventory_id',
      brand: 'l.brand',
    }),
    linesOf(q, {
      kind: 'sublet',
      isBought: true,
      from: '{repair_order_sublets} l',
      description: 'l.name',
      quantity: '1',
      price: sane('l.price_cents'),
      vendor: 'l.vendor_id',
    }),
    linesOf(q, {
      kind: 'hazmat',
      from: '{repair_order_hazmats} l',
      description: 'l.name',
      quantity: q.units('l.quantity', absurd.units),
      price: sanePrice('l.fee_cents'),
    }),
  ],
})

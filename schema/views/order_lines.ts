import { joinOrder, laborsOf, partition, sane, shareOf, worth } from '../lines.js'
import { col, common, defineView, takes, type ViewQuery, type ViewWords } from '../view.js'

const columns = {
  closed_on: col.day("The shop's day on which the order was closed; null until then."),
  created_on: col.day("The shop's day on which the order was created."),
  ...common,
  repair_order_id: col.id('The repair order.'),
  repair_order_key: col.text('The repair order, as one text: TENANT-ID.'),
  state: col.text('State of the order: `estimate`, `in_progress` or `invoice`.'),
  service_id: col.id('The service that the line is part of.'),
  kind: col.text('`labor`, `part`, `sublet` or `hazmat`.'),
  line_id: col.id('Id of the line within its kind.'),
  line_key: col.text('The line, as one text: KIND-TENANT-ORDER-ID; unique.'),
  description: col.text(
    'What was done or sold: the name of a labor, sublet or hazmat, the description of a part.',
  ),
  technician_id: col.id('Technician of a labor; null on the other kinds.'),
  technician_key: col.key('dim_staffs', 'The technician, as one text: TENANT-ID.'),
  technician_name: col.text('Name of the technician.'),
  inventory_id: col.id('Inventory item of a part; null on the other kinds.'),
  brand: col.text('Brand of a part; null on the other kinds.'),
  quantity: col.quantity(
    'Hours of a labor, units of a part or hazmat, 1 for a sublet; null where unknown or absurd.',
  ),
  price_cents: col.cents(
    'Price of one: the labor rate of the service, the price of a part, a sublet, a hazmat.',
  ),
  amount_cents: col.cents(
    'Quantity times price, rounded to cents; 0 where one of them is unknown. Before discount and tax.',
  ),
  discount_cents: col.cents(
    "The line's share of the order's discount on labor or parts: all shares sum to it exactly.",
  ),
  net_cents: col.cents('Amount less discount: what the line adds to the sales of its order.'),
  cost_cents: col.cents(
    'Quantity times unit cost of a part, the cost of a sublet; null where unknown, and on labors and hazmats, which have none.',
  ),
  price_unknown: col.boolean(
    'true where quantity or price is unknown, so that the amount is 0 and the total of the order unknown.',
  ),
  taxable: col.boolean('Whether it is taxable; where the API says nothing it is.'),
  service_key: col.key('service_totals', 'The service, as one text: TENANT-ORDER-ID.'),
} as const

/** What the kinds of lines say differently. Each has its rows as `l`. */
interface Leg {
  readonly kind: string
  readonly from: string
  readonly description: string
  readonly quantity: string
  readonly price: string
  readonly amount: string
  /** The order's discount on them, and their sum. */
  readonly discount?: { readonly cents: string; readonly of: string }
  readonly cost?: string
  readonly technician?: string
  readonly inventory?: string
  readonly brand?: string
}

const unknownId = 'cast(null as bigint)'
const unknownText = 'cast(null as text)'

/** What a line says, as expressions. */
const partsOf = (given: Leg) => ({
  ...takes(
    'o',
    'closed_on',
    'created_on',
    'tenant_id',
    'shop_id',
    'repair_order_id',
    'repair_order_key',
    'state',
  ),
  service_id: 'l.service_id',
  id: 'l.id',
  description: given.description,
  technician_id: given.technician ?? unknownId,
  inventory_id: given.inventory ?? unknownId,
  brand: given.brand ?? unknownText,
  quantity: given.quantity,
  price_cents: given.price,
  amount_cents: given.amount,
  cost_cents: given.cost ?? unknownId,
  taxable: 'l.taxable',
})
type Parts = ReturnType<typeof partsOf>

/** The query of lines whose parts are known, in `from`; `discount`: the share of each. */
function shown(q: ViewWords, given: Leg, line: Parts, [discount, from]: readonly [string, string]) {
  const { kind, technician } = given
  const { id, tenant_id, shop_id, technician_id, amount_cents, ...plain } = line
  const known = `coalesce(${amount_cents}, 0)`
  const staffs = `left join {staffs} t on t.tenant_id = ${tenant_id} and t.id = ${technician_id}`
  return {
    select: {
      ...plain,
      tenant_id,
      tenant_name: q.tenantName(tenant_id),
      shop_id,
      shop_key: q.key(tenant_id, shop_id),
      shop_name: q.name('shops', 'h', shop_id),
      kind: `'${kind}'`,
      line_id: id,
      line_key: `'${kind}-' || ${q.key(tenant_id, line.repair_order_id, id)}`,
      service_key: q.key(tenant_id, line.repair_order_id, line.service_id),
      technician_id,
      technician_key: technician ? q.key(tenant_id, technician_id) : unknownText,
      technician_name: technician ? q.name('staffs', 't', technician_id) : unknownText,
      amount_cents: known,
      discount_cents: discount,
      net_cents: `${known} - (${discount})`,
      price_unknown: `(${amount_cents}) is null`,
      taxable: `coalesce(${line.taxable}, true)`,
    },
    from: (condition: string) => `${from}
      left join {shops} h on h.tenant_id = ${tenant_id} and h.id = ${shop_id}
      ${technician ? staffs : ''} ${condition}`,
  }
}

/**
 * The lines of one kind. Those of an order with a discount are added up line by line, so that each takes its share; few
 * orders have one, and the others are not asked.
 */
function legs(q: ViewWords, given: Leg): ViewQuery<keyof typeof columns>[] {
  const { from, discount } = given
  const parts = partsOf(given)
  const plain = shown(q, given, parts, ['0', `${from} ${joinOrder('l')}`])
  if (!discount) return [{ ...plain, from: plain.from('') }]
  const { cents, of } = discount
  const names = Object.keys(parts) as (keyof Parts)[]
  const sums = `sum(coalesce(${given.amount}, 0)) over (partition by ${partition} order by l.service_id, l.id)`
  const lines = `(select ${names.map((name) => `${parts[name]} as ${name}`).join(', ')}, ${sums} as up_to, ${cents} as discount, ${of} as whole
      from ${from} ${joinOrder('l')} where ${cents} <> 0 and ${of} <> 0) w`
  const share = shareOf(q, 'w', 'coalesce(w.amount_cents, 0)')
  const shared = shown(q, given, takes('w', ...names), [share, lines])
  return [
    { ...plain, from: plain.from(`where ${cents} = 0 or ${of} = 0`) },
    { ...shared, from: shared.from('') },
  ]
}

export default defineView({
  name: 'order_lines',
  doc: 'What repair orders consist of, line by line: quantity, price, discount and cost. Estimates and orders in progress are among them: see `state`.',
  grain: 'one labor, part, sublet or hazmat of a live repair order',
  columns,
  example: `select kind, sum(net_cents) as net_cents from order_lines where state = 'invoice' group by kind order by kind`,
  build: (q) => [
    ...legs(q, {
      kind: 'labor',
      from: laborsOf('l', 's'),
      description: 'l.name',
      quantity: 'l.hours',
      price: 's.labor_rate_cents',
      amount: worth(q, 'l.hours', 's.labor_rate_cents'),
      discount: { cents: 'o.labor_discount_cents', of: 'o.labor_cents' },
      technician: 'l.technician_id',
    }),
    ...legs(q, {
      kind: 'part',
      from: '{repair_order_parts} l',
      description: 'l.description',
      quantity: 'l.quantity',
      price: 'l.quoted_price_cents',
      amount: worth(q, 'l.quantity', 'l.quoted_price_cents'),
      discount: { cents: 'o.parts_discount_cents', of: 'o.parts_cents' },
      cost: worth(q, 'l.quantity', 'l.cost_cents'),
      inventory: 'l.part_inventory_id',
      brand: 'l.brand',
    }),
    ...legs(q, {
      kind: 'sublet',
      from: '{repair_order_sublets} l',
      description: 'l.name',
      quantity: '1',
      price: 'l.price_cents',
      amount: sane('l.price_cents'),
      cost: sane('l.cost_cents'),
    }),
    ...legs(q, {
      kind: 'hazmat',
      from: '{repair_order_hazmats} l',
      description: 'l.name',
      quantity: 'l.quantity',
      price: 'l.fee_cents',
      amount: worth(q, 'l.quantity', 'l.fee_cents'),
    }),
  ],
})

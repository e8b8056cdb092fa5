import { countUnknown, joinOrder } from '../lines.js'
import { col, common, defineView, type JoinedFigures, type ViewWords } from '../view.js'

/** Figures over the lines of one kind of the service `s`. */
const over = <const N extends string>(q: ViewWords, table: string, figures: Record<N, string>) =>
  q.figures(
    `${table}_of`,
    `from {repair_order_${table}} l where l.tenant_id = s.tenant_id and l.repair_order_id = s.repair_order_id and l.service_id = s.id`,
    figures,
  )

/** A kind without lines comes to 0. */
const sumOf = (amount: string): string => `coalesce(sum(${amount}), 0)`
const lacking = (...amounts: readonly string[]): string =>
  amounts.map((amount) => `count(*) - count(${amount})`).join(' + ')

const amount = 'l._amount_cents'
const cost = 'l._cost_cents'

/** The figures of a service by name, and their joins. */
function figures(q: ViewWords): JoinedFigures {
  const labors = over(q, 'labors', {
    nine: q.sumNine('l.hours'),
    cents: sumOf(amount),
    off: sumOf('l._discount_cents'),
    unknown: lacking(amount),
    without_hours: countUnknown(q, 'l.hours'),
  })
  const parts = over(q, 'parts', {
    cents: sumOf(amount),
    off: sumOf('l._discount_cents'),
    cost: sumOf(cost),
    unknown: lacking(amount, cost),
  })
  const sublets = over(q, 'sublets', {
    cents: sumOf(amount),
    cost: sumOf(cost),
    unknown: lacking(amount, cost),
  })
  const hazmats = over(q, 'hazmats', { cents: sumOf(amount), unknown: lacking(amount) })
  const kinds = [labors, parts, sublets, hazmats]
  return {
    figures: {
      hours_nine: labors.figures.nine,
      lines_without_hours: labors.figures.without_hours,
      labor_cents: labors.figures.cents,
      labor_discount_cents: labors.figures.off,
      parts_cents: parts.figures.cents,
      parts_discount_cents: parts.figures.off,
      sublets_cents: sublets.figures.cents,
      hazmats_cents: hazmats.figures.cents,
      parts_cost_cents: parts.figures.cost,
      sublets_cost_cents: sublets.figures.cost,
      unknown: kinds.map((kind) => kind.figures.unknown).join(' + '),
    },
    join: kinds.map(({ join }) => join).join(' '),
  }
}

const sales =
  'x.labor_cents - x.labor_discount_cents + x.parts_cents - x.parts_discount_cents + x.sublets_cents + x.hazmats_cents'
const costs = 'x.parts_cost_cents + x.sublets_cost_cents'

export default defineView({
  name: 'service_totals',
  doc: "What each service of a repair order comes to. The order's discounts are shared out so that the services sum to their order exactly; a service without labor or parts takes none.",
  grain: 'one service of a live repair order',
  columns: {
    closed_on: col.day("The shop's day on which the order was closed; null until then."),
    created_on: col.day("The shop's day on which the order was created."),
    ...common,
    repair_order_id: col.id.always('The repair order.'),
    repair_order_key: col.text.always('The repair order, as one text: TENANT-ID.'),
    state: col.text('State of the order: `estimate`, `in_progress` or `invoice`.'),
    service_id: col.id.always('The service.'),
    service_key: col.text.unique('The service, as one text: TENANT-ORDER-ID; unique.'),
    title: col.text('Title of the service.'),
    category_id: col.id('Category of the service.'),
    category: col.text('Text of the category.'),
    canned_job_id: col.id('Canned job that the service was made from.'),
    completed: col.boolean(
      'Whether staff marked it completed; services that are not are counted all the same.',
    ),
    labor_hours: col.hours('Sum of its hours.'),
    labor_cents: col.cents.always('Sum of its labors, before discount.'),
    labor_discount_cents: col.cents.always("Its share of the order's discount on labor."),
    parts_cents: col.cents.always('Sum of its parts, before discount.'),
    parts_discount_cents: col.cents.always("Its share of the order's discount on parts."),
    sublets_cents: col.cents.always('Sum of its sublets.'),
    hazmats_cents: col.cents.always('Sum of its hazmats.'),
    sales_cents: col.cents.always('What it adds to the sales of its order: before supply fee and taxes.'),
    cost_cents: col.cents.always('Sum of the known costs of its parts and sublets.'),
    gross_profit_cents: col.cents(
      "Sales less cost, before technicians' pay; null where a price or a cost in it is unknown.",
    ),
    lines_without_hours: col.count.always(
      'Labors whose hours are unknown or absurd: they are in neither `labor_hours` nor `labor_cents`.',
    ),
  },
  example:
    "select title, count(*) as sold, sum(sales_cents) as sales_cents from service_totals where state = 'invoice' group by title order by sales_cents desc limit 10",
  build: (q) => ({
    select: {
      closed_on: 'x.closed_on',
      created_on: 'x.created_on',
      tenant_id: 'x.tenant_id',
      tenant_name: q.tenantName('x.tenant_id'),
      shop_id: 'x.shop_id',
      shop_key: q.key('x.tenant_id', 'x.shop_id'),
      shop_name: q.name('shops', 'h', 'x.shop_id'),
      repair_order_id: 'x.repair_order_id',
      repair_order_key: 'x.repair_order_key',
      state: 'x.state',
      service_id: 'x.service_id',
      service_key: q.key('x.tenant_id', 'x.repair_order_id', 'x.service_id'),
      title: 'x.title',
      category_id: 'x.category_id',
      category: 'c.text',
      canned_job_id: 'x.canned_job_id',
      completed: 'x.completed',
      labor_hours: q.fromNine('x.hours_nine'),
      labor_cents: 'x.labor_cents',
      labor_discount_cents: 'x.labor_discount_cents',
      parts_cents: 'x.parts_cents',
      parts_discount_cents: 'x.parts_discount_cents',
      sublets_cents: 'x.sublets_cents',
      hazmats_cents: 'x.hazmats_cents',
      sales_cents: sales,
      cost_cents: costs,
      gross_profit_cents: `case when x.unknown = 0 then ${sales} - (${costs}) end`,
      lines_without_hours: 'x.lines_without_hours',
    },
    from: `(
      select o.closed_on, o.created_on, o.tenant_id, o.shop_id, o.repair_order_id, o.repair_order_key, o.state,
        s.id as service_id, s.title, s.category_id, s.canned_job_id, s.completed,
        ${Object.entries(figures(q).figures)
          .map(([name, figure]) => `${figure} as ${name}`)
          .join(',\n        ')}
      from {repair_order_services} s ${joinOrder('s')} ${figures(q).join}) x
      left join {shops} h on h.tenant_id = x.tenant_id and h.id = x.shop_id
      left join {categories} c on c.tenant_id = x.tenant_id and c.id = x.category_id`,
  }),
})

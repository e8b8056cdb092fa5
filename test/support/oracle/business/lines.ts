/** What the views of services, and of their lines and inspections, show. */
import {
  cents,
  type Fields,
  hoursOf,
  list,
  priceOf,
  type Row,
  shownNanos,
  sum,
  unitsOf,
  unknowns,
} from './amounts.js'
import { type Bill, type Line, servicesOf } from './bills.js'
import { type Business, groups } from './business.js'

/** What rows about something inside an order begin with: its own fields, the order's, and keys that name the order. */
const within = (business: Business, order: Fields, what: string, thing: Fields): Row => ({
  ...thing,
  ...business.about(order),
  [`${what}_id`]: thing.id,
  [`${what}_key`]: business.key(order.id, thing.id),
})

const orderLines = (business: Business): Row[] =>
  business.bills.flatMap(({ order, lines }) =>
    lines.map((line) => {
      const { kind, service, item, amount, cost, net, profit } = line
      const ofPart = (name: string): unknown => (kind === 'part' ? item[name] : null)
      return {
        ...within(business, order, 'service', service),
        kind,
        line_id: item.id,
        line_key: `${kind}-${business.key(order.id, item.id)}`,
        technician_id: kind === 'labor' ? item.technician_id : null,
        vendor_id: kind === 'sublet' ? item.vendor_id : null,
        inventory_id: ofPart('part_inventory_id'),
        brand: ofPart('brand'),
        description: kind === 'part' ? item.description : item.name,
        quantity: shownNanos(line.units),
        price_cents: kind === 'sublet' ? cents(line.price) : priceOf(line.price),
        amount_cents: amount ?? 0n,
        discount_cents: line.discount,
        net_cents: net,
        cost_cents: cost,
        price_unknown: amount === null,
        taxable: item.taxable !== false,
        tax_cents: line.tax,
        net_where_cost_known_cents: cost === null ? 0n : net,
        gross_profit_cents: profit,
        net_where_profit_known_cents: profit === null ? 0n : net,
      }
    }),
  )

const serviceTotals = (business: Business): Row[] =>
  business.bills.flatMap((bill) =>
    servicesOf(bill).map(({ service, hours, ...sums }) => ({
      ...within(business, bill.order, 'service', service),
      ...business.category(service.category_id),
      ...sums,
      completed_at: service.completed_at,
      labor_hours: shownNanos(hours),
      rated_hours: priceOf(service.labor_rate_cents) === null ? 0 : shownNanos(hours),
      sales_where_profit_known_cents: sums.gross_profit_cents === null ? 0n : sums.sales_cents,
    })),
  )

/** The lines of one kind, each with its order. */
const linesIn = (bills: readonly Bill[], kind: Line['kind']): (Line & { readonly order: Fields })[] =>
  bills.flatMap(({ order, lines }) =>
    lines.filter((line) => line.kind === kind).map((line) => ({ ...line, order })),
  )

function technicianHours(business: Business): Row[] {
  const labors = linesIn(business.invoices, 'labor')
  const of = ({ order, item }: (typeof labors)[number]): unknown[] => [
    order.shop_id,
    business.closed(order),
    item.technician_id,
  ]
  return groups(labors, of).map(([first, own]) => {
    const hours = own.map(({ units }) => units)
    const rated = own.filter(({ price }) => priceOf(price) !== null)
    return {
      shop_id: first.order.shop_id,
      technician_id: first.item.technician_id,
      day: business.closed(first.order),
      invoices: new Set(own.map(({ order }) => order.id)).size,
      sold_hours: shownNanos(sum(hours)),
      rated_hours: shownNanos(sum(rated.map(({ units }) => units))),
      labor_cents: sum(own.map(({ amount }) => amount)),
      hours_unknown: unknowns(hours),
      lines: own.length,
    }
  })
}

/** The band of a unit's cost. */
function bandOf(cost: bigint | null): string {
  if (cost === null) return 'unknown'
  const bands: [number, string][] = [
    [500, '0 under 5'],
    [2000, '1 5 to 20'],
    [5000, '2 20 to 50'],
    [10_000, '3 50 to 100'],
    [25_000, '4 100 to 250'],
  ]
  return bands.find(([below]) => cost < below)?.[1] ?? '5 250 and more'
}

const partsMargin = (business: Business): Row[] =>
  linesIn(business.invoices, 'part').map(({ order, item, units, price, amount, cost, net: all }) => {
    const net = amount === null ? 0n : all
    const isKnown = amount !== null && cost !== null
    return {
      ...within(business, order, 'part', item),
      day: business.closed(order),
      inventory_id: item.part_inventory_id,
      part_number: item.number,
      quantity: shownNanos(units),
      quoted_price_cents: priceOf(price),
      unit_cost_cents: priceOf(item.cost_cents),
      cost_band: bandOf(priceOf(item.cost_cents)),
      sold_cents: amount ?? 0n,
      cost_cents: cost,
      margin_cents: isKnown ? amount - cost : null,
      net_cents: net,
      net_margin_cents: isKnown ? net - cost : null,
      net_where_margin_known_cents: isKnown ? net : 0n,
      sold_where_margin_known_cents: isKnown ? amount : 0n,
    }
  })

/** Parts of open orders, and what is known of their stock items. */
function partsOnOrder(business: Business): Row[] {
  const bought = business.records
    .of('purchase_records')
    .filter(({ is_return }) => is_return !== true)
    .flatMap((record) => list(record, 'line_items').map((item) => ({ at: record.created_at, item })))
  const open = business.bills.filter(({ order }) => order.state !== 'invoice')
  return linesIn(open, 'part').map(({ order, service, item: part, units }) => {
    const inventory = part.part_inventory_id ?? null
    const stock = business.record('inventories', inventory)
    const since = bought.filter(
      ({ at, item }) =>
        item.inventory_id === inventory && Date.parse(String(at)) >= Date.parse(String(order.created_at)),
    )
    const shown = (name: string): number | null => shownNanos(unitsOf(stock?.[name]))
    return {
      ...within(business, order, 'part', part),
      service_id: service.id,
      service_key: business.key(order.id, service.id),
      vendor_id: stock?.primary_vendor_id,
      inventory_id: inventory,
      part_number: part.number,
      is_estimate: order.state === 'estimate',
      quantity: shownNanos(units),
      needed: shown('quantity_needed'),
      ordered: shown('quantity_ordered'),
      received: inventory === null ? null : shownNanos(sum(since.map(({ item }) => unitsOf(item.quantity)))),
      returned: shown('quantity_returned'),
      allocated: shown('quantity_in_progress'),
      on_hand: shown('quantity_on_hand'),
    }
  })
}

function cannedJobHours(business: Business): Row[] {
  const sold = business.invoices.flatMap(servicesOf)
  return business.records.of('canned_jobs').map((job) => {
    const planned = list(job, 'labors').map(({ hours }) => hoursOf(hours))
    const own = sold.filter(({ service }) => service.canned_job_id === job.id)
    return {
      ...business.category(job.category_id),
      shop_id: job.shop_id,
      canned_job_id: job.id,
      title: job.title,
      book_hours: shownNanos(sum(planned)),
      times_sold: own.length,
      hours_sold: shownNanos(sum(own.map(({ hours }) => hours))),
      book_lines_without_hours: unknowns(planned),
      lines_without_hours: own.reduce((all, one) => all + one.lines_without_hours, 0),
    }
  })
}

const inspections = (business: Business): Row[] =>
  business.bills.flatMap(({ order }) =>
    list(order, 'services').flatMap((service) =>
      list(service, 'inspections').map((one) => ({
        ...within(business, order, 'inspection', one),
        service_id: service.id,
        service_key: business.key(order.id, service.id),
        service_title: service.title,
        name: one.name,
        result: one.state,
        detail: one.detail,
        inspected_at: one.updated_at,
      })),
    ),
  )

export const lineViews = {
  order_lines: orderLines,
  service_totals: serviceTotals,
  technician_hours: technicianHours,
  parts_margin: partsMargin,
  parts_on_order: partsOnOrder,
  canned_job_hours: cannedJobHours,
  inspections,
}

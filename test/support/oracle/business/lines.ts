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
import { type Bill, idOf, type Kind, kinds, type Line, netsOf, shares } from './bills.js'
import { type Business, groups, instantOf, key } from './business.js'

const orderLines = (business: Business): Row[] =>
  business.bills.flatMap((bill) =>
    kinds.flatMap((kind) =>
      netsOf(bill, kind).map(({ line, discount, tax, net, isProfitKnown }) => {
        const { service, item, units, price, amount, cost, costs } = line
        const ofPart = (name: string): unknown => (kind === 'part' ? (item[name] ?? null) : null)
        return {
          ...business.head(bill.order),
          ...business.named('technician', 'staffs', kind === 'labor' ? item.technician_id : null),
          ...business.named('vendor', 'vendors', kind === 'sublet' ? item.vendor_id : null),
          service_id: service.id,
          service_key: key(business.tenant, bill.order.id, service.id),
          kind,
          line_id: item.id,
          line_key: `${kind}-${key(business.tenant, bill.order.id, item.id)}`,
          description: (kind === 'part' ? item.description : item.name) ?? null,
          brand: ofPart('brand'),
          inventory_id: ofPart('part_inventory_id'),
          inventory_key: key(business.tenant, ofPart('part_inventory_id')),
          quantity: shownNanos(units),
          price_cents: kind === 'sublet' ? cents(price) : priceOf(price),
          amount_cents: amount ?? 0n,
          discount_cents: discount,
          net_cents: net,
          cost_cents: costs ? cost : null,
          price_unknown: amount === null,
          taxable: item.taxable !== false,
          tax_cents: tax,
          net_where_cost_known_cents: costs && cost !== null ? net : 0n,
          gross_profit_cents: isProfitKnown ? net - (cost ?? 0n) : null,
          net_where_profit_known_cents: isProfitKnown ? net : 0n,
        }
      }),
    ),
  )

/** What the services of a bill come to, in the order in which they get their shares of the discounts. */
export function servicesOf({ order, lines, gross, discount }: Bill) {
  const services = [...list(order, 'services')].sort((a, b) => idOf(a) - idOf(b))
  const grossOf = (service: Fields, kind: Kind): bigint =>
    sum(lines.filter((line) => line.service === service && line.kind === kind).map(({ amount }) => amount))
  const off = (kind: Kind): bigint[] =>
    shares(
      discount[kind],
      gross[kind],
      services.map((service) => grossOf(service, kind)),
    )
  const [laborOff, partsOff] = [off('labor'), off('part')]
  return services.map((service, i) => {
    const own = lines.filter((line) => line.service === service)
    const labors = own.filter(({ kind }) => kind === 'labor')
    const sales = sum(own.map(({ amount }) => amount)) - (laborOff[i] ?? 0n) - (partsOff[i] ?? 0n)
    const cost = sum(own.map((line) => line.cost))
    const isKnown = own.every((line) => line.amount !== null && (!line.costs || line.cost !== null))
    return {
      service,
      sales,
      cost,
      hours: sum(labors.map(({ units }) => units)),
      withoutHours: unknowns(labors.map(({ units }) => units)),
      labor: grossOf(service, 'labor'),
      laborDiscount: laborOff[i] ?? 0n,
      parts: grossOf(service, 'part'),
      partsDiscount: partsOff[i] ?? 0n,
      sublets: grossOf(service, 'sublet'),
      hazmats: grossOf(service, 'hazmat'),
      profit: isKnown ? sales - cost : null,
    }
  })
}

const categoryOf = (business: Business, id: unknown): Row => ({
  category_id: id ?? null,
  category: business.record('categories', id)?.text ?? null,
})

const serviceTotals = (business: Business): Row[] =>
  business.bills.flatMap((bill) =>
    servicesOf(bill).map(({ service, ...of }) => ({
      ...business.head(bill.order),
      ...categoryOf(business, service.category_id),
      service_id: service.id,
      service_key: key(business.tenant, bill.order.id, service.id),
      title: service.title ?? null,
      canned_job_id: service.canned_job_id ?? null,
      completed: service.completed ?? null,
      completed_at: instantOf(service.completed_at),
      completed_on: business.day(bill.order.shop_id, service.completed_at),
      completed_at_local: business.clock(bill.order.shop_id, service.completed_at),
      labor_hours: shownNanos(of.hours),
      rated_hours: priceOf(service.labor_rate_cents) === null ? 0 : shownNanos(of.hours),
      lines_without_hours: of.withoutHours,
      labor_cents: of.labor,
      labor_discount_cents: of.laborDiscount,
      parts_cents: of.parts,
      parts_discount_cents: of.partsDiscount,
      sublets_cents: of.sublets,
      hazmats_cents: of.hazmats,
      sales_cents: of.sales,
      cost_cents: of.cost,
      gross_profit_cents: of.profit,
      sales_where_profit_known_cents: of.profit === null ? 0n : of.sales,
    })),
  )

function technicianHours(business: Business): Row[] {
  const labors = business.invoices.flatMap(({ order, lines }) =>
    lines.filter(({ kind }) => kind === 'labor').map((line) => ({ order, line })),
  )
  const technician = ({ item }: Line): unknown => item.technician_id ?? null
  return groups(labors, ({ order, line }) => [order.shop_id, business.closed(order), technician(line)]).map(
    ([{ order, line: first }, own]) => {
      const rated = own.filter(({ line }) => priceOf(line.price) !== null)
      return {
        ...business.shop(order.shop_id),
        ...business.named('technician', 'staffs', technician(first)),
        day: business.closed(order),
        invoices: new Set(own.map((one) => one.order.id)).size,
        sold_hours: shownNanos(sum(own.map(({ line }) => line.units))),
        rated_hours: shownNanos(sum(rated.map(({ line }) => line.units))),
        labor_cents: sum(own.map(({ line }) => line.amount)),
        hours_unknown: unknowns(own.map(({ line }) => line.units)),
        lines: own.length,
      }
    },
  )
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
  business.invoices.flatMap((bill) =>
    netsOf(bill, 'part').map(({ line: { item, units, price, amount, cost }, net: all }) => {
      const net = amount === null ? 0n : all
      const isKnown = amount !== null && cost !== null
      return {
        ...business.head(bill.order),
        day: business.closed(bill.order),
        part_id: item.id,
        part_key: key(business.tenant, bill.order.id, item.id),
        inventory_id: item.part_inventory_id ?? null,
        inventory_key: key(business.tenant, item.part_inventory_id),
        brand: item.brand ?? null,
        part_number: item.number ?? null,
        description: item.description ?? null,
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
    }),
  )

/** Parts of open orders, and what is known of their stock items. */
function partsOnOrder(business: Business): Row[] {
  const bought = business.records
    .of('purchase_records')
    .filter(({ is_return }) => is_return !== true)
    .flatMap((record) => list(record, 'line_items').map((item) => ({ at: record.created_at, item })))
  return business.bills
    .filter(({ order }) => order.state !== 'invoice')
    .flatMap(({ order, lines }) =>
      lines
        .filter(({ kind }) => kind === 'part')
        .map(({ service, item: part, units }) => {
          const inventory = part.part_inventory_id ?? null
          const item = business.record('inventories', inventory)
          const since = bought.filter(
            (one) =>
              one.item.inventory_id === inventory &&
              Date.parse(String(one.at)) >= Date.parse(String(order.created_at)),
          )
          const shown = (name: string): number | null => shownNanos(unitsOf(item?.[name]))
          return {
            ...business.head(order),
            ...business.people(order),
            ...business.named('vendor', 'vendors', item?.primary_vendor_id),
            due_out_at: instantOf(order.due_out_at),
            due_out_at_local: business.clock(order.shop_id, order.due_out_at),
            service_id: service.id,
            service_key: key(business.tenant, order.id, service.id),
            part_id: part.id,
            part_key: key(business.tenant, order.id, part.id),
            brand: part.brand ?? null,
            part_number: part.number ?? null,
            description: part.description ?? null,
            is_estimate: order.state === 'estimate',
            inventory_id: inventory,
            inventory_key: key(business.tenant, inventory),
            quantity: shownNanos(units),
            needed: shown('quantity_needed'),
            ordered: shown('quantity_ordered'),
            received:
              inventory === null ? null : shownNanos(sum(since.map((one) => unitsOf(one.item.quantity)))),
            returned: shown('quantity_returned'),
            allocated: shown('quantity_in_progress'),
            on_hand: shown('quantity_on_hand'),
          }
        }),
    )
}

function cannedJobHours(business: Business): Row[] {
  const sold = business.invoices.flatMap(({ order, lines }) =>
    list(order, 'services').map((service) => ({
      service,
      hours: lines
        .filter((line) => line.service === service && line.kind === 'labor')
        .map(({ units }) => units),
    })),
  )
  return business.records.of('canned_jobs').map((job) => {
    const planned = list(job, 'labors').map(({ hours }) => hoursOf(hours))
    const own = sold.filter(({ service }) => service.canned_job_id === job.id)
    const hours = own.flatMap((one) => one.hours)
    return {
      ...business.shop(job.shop_id),
      ...categoryOf(business, job.category_id),
      canned_job_id: job.id,
      canned_job_key: key(business.tenant, job.id),
      title: job.title ?? null,
      book_hours: shownNanos(sum(planned)),
      times_sold: own.length,
      hours_sold: shownNanos(sum(hours)),
      book_lines_without_hours: unknowns(planned),
      lines_without_hours: unknowns(hours),
    }
  })
}

const inspections = (business: Business): Row[] =>
  business.bills.flatMap(({ order }) =>
    list(order, 'services').flatMap((service) =>
      list(service, 'inspections').map((one) => ({
        ...business.head(order),
        ...business.people(order),
        service_id: service.id,
        service_key: key(business.tenant, order.id, service.id),
        service_title: service.title ?? null,
        inspection_id: one.id,
        inspection_key: key(business.tenant, order.id, one.id),
        name: one.name ?? null,
        result: one.state ?? null,
        detail: one.detail ?? null,
        inspected_at: instantOf(one.updated_at),
        inspected_on: business.day(order.shop_id, one.updated_at),
        inspected_at_local: business.clock(order.shop_id, one.updated_at),
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

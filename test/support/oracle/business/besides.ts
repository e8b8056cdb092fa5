/** What the views of recommendations, appointments, stock, purchases, people and shops show. */
import {
  divided,
  type Fields,
  list,
  magnitude,
  priceOf,
  type Row,
  shownNanos,
  sum,
  unitsOf,
  unknowns,
  worth,
} from './amounts.js'
import { worthOfRecommendation } from './bills.js'
import { type Business, groups, instantOf, key, minutesFrom } from './business.js'

const decisionOf = (approved: unknown): string =>
  approved === true ? 'approved' : approved === false ? 'declined' : 'undecided'

/** The category of what a recommendation recommends. */
function categoryOf(business: Business, recommendation: Fields | undefined): Row {
  const id = (recommendation?.service as Fields | null | undefined)?.category_id ?? null
  return { category_id: id, category: business.record('categories', id)?.text ?? null }
}

function recommendations(business: Business): Row[] {
  const past = business.records.of('past_recommendations')
  return business.records.of('recommendations').map((one) => {
    const isQuick = typeof one.quick_price_cents === 'number'
    const own = past.filter(({ recommendation_id }) => recommendation_id === one.id)
    const isDone = [one, ...own].some(({ imported, done }) => imported === true || done === true)
    const isApproved = [one, ...own].some(({ approved }) => approved === true)
    const order = business.byOrder.get(Number(one.repair_order_id))?.order
    const isGone = typeof one.repair_order_id === 'number' && order === undefined
    return {
      ...business.shop(order?.shop_id),
      ...business.people(order),
      ...categoryOf(business, one),
      recommendation_id: one.id,
      recommendation_key: key(business.tenant, one.id),
      repair_order_id: one.repair_order_id ?? null,
      repair_order_key: key(business.tenant, one.repair_order_id),
      description: one.description ?? null,
      kind: isQuick ? 'quick' : 'service',
      decision: decisionOf(one.approved),
      imported: one.imported ?? null,
      sold_later: own.some(({ imported }) => imported === true),
      value_cents: worthOfRecommendation(one),
      recommended_at: instantOf(one.created_at),
      recommended_on: business.day(order?.shop_id, one.created_at),
      recommended_at_local: business.clock(order?.shop_id, one.created_at),
      done: isDone,
      is_to_sell: !isDone && !isApproved && !isGone,
      is_approved_unsold: !isDone && isApproved && !isGone,
      order_gone: isGone,
    }
  })
}

const earlierRecommendations = (business: Business): Row[] =>
  business.records.of('past_recommendations').map((one) => {
    const source = business.record('recommendations', one.recommendation_id)
    const order = business.byOrder.get(Number(source?.repair_order_id))?.order
    const isDone = one.done === true || one.imported === true
    const isSold = isDone || source?.imported === true
    const isApproved = one.approved === true || source?.approved === true
    const isGone = typeof source?.repair_order_id === 'number' && order === undefined
    const instants = { recommended: source?.created_at, unsold: one.created_at, decided: one.approval_at }
    return {
      ...business.shop(order?.shop_id),
      ...business.named('customer', 'customers', order?.customer_id),
      ...business.named('vehicle', 'vehicles', one.vehicle_id),
      ...categoryOf(business, source),
      ...Object.fromEntries(
        Object.entries(instants).flatMap(([name, at]) => [
          [`${name}_at`, instantOf(at)],
          [`${name}_on`, business.day(order?.shop_id, at)],
          [`${name}_at_local`, business.clock(order?.shop_id, at)],
        ]),
      ),
      past_recommendation_id: one.id,
      past_recommendation_key: key(business.tenant, one.id),
      recommendation_id: one.recommendation_id ?? null,
      recommendation_key: key(business.tenant, one.recommendation_id),
      repair_order_id: source?.repair_order_id ?? null,
      repair_order_key: key(business.tenant, source?.repair_order_id),
      number: order?.number ?? null,
      description: one.description ?? null,
      decision: decisionOf(one.approved),
      imported: one.imported ?? null,
      done: isDone,
      is_to_sell: !isSold && !isApproved && !isGone,
      is_approved_unsold: !isSold && isApproved && !isGone,
      order_gone: isGone,
      value_cents: source ? worthOfRecommendation(source) : null,
    }
  })

const appointmentLoad = (business: Business): Row[] =>
  business.records.of('appointments').map((one) => {
    const order = business.byOrder.get(Number(one.repair_order_id))?.order
    const isOver = Date.parse(String(one.start_at)) <= Date.parse(business.now)
    const open = isOver ? 'work not begun' : 'to come'
    const outcome = order === undefined ? 'order gone' : order.started_at ? 'came' : open
    return {
      ...business.shop(one.shop_id),
      ...business.named('staff', 'staffs', one.staff_id),
      appointment_id: one.id,
      appointment_key: key(business.tenant, one.id),
      title: one.title ?? null,
      start_at: instantOf(one.start_at),
      day: business.day(one.shop_id, one.start_at),
      start_at_local: business.clock(one.shop_id, one.start_at),
      minutes: minutesFrom(one.start_at, one.end_at),
      created_at: instantOf(one.created_at),
      created_on: business.day(one.shop_id, one.created_at),
      created_at_local: business.clock(one.shop_id, one.created_at),
      repair_order_id: one.repair_order_id ?? null,
      repair_order_key: key(business.tenant, one.repair_order_id),
      // What happened to its order, in the days of the order's own shop.
      outcome: typeof one.repair_order_id === 'number' ? outcome : 'no order',
      order_created_on: business.day(order?.shop_id, order?.created_at),
      work_begun_on: business.day(order?.shop_id, order?.started_at),
    }
  })

const handovers = (business: Business): Row[] =>
  business.records.of('assignments').map((one) => {
    const order = business.byOrder.get(Number(one.repair_order_id))?.order
    const instants = ['created_at', 'accepted_at', 'cancelled_at'].flatMap((name) => [
      [name, instantOf(one[name])],
      [`${name}_local`, business.clock(order?.shop_id, one[name])],
    ])
    return {
      ...business.shop(order?.shop_id),
      ...business.named('from_staff', 'staffs', one.transfer_from_id),
      ...business.named('to_staff', 'staffs', one.transfer_to_id),
      ...Object.fromEntries(instants),
      assignment_id: one.id,
      assignment_key: key(business.tenant, one.id),
      repair_order_id: one.repair_order_id ?? null,
      repair_order_key: key(business.tenant, one.repair_order_id),
      number: order?.number ?? null,
      message: one.message ?? null,
      day: business.day(order?.shop_id, one.created_at),
      minutes_to_accept: minutesFrom(one.created_at, one.accepted_at),
      outcome: one.cancelled_at ? 'cancelled' : one.accepted_at ? 'accepted' : 'open',
    }
  })

/** The earliest and the latest of them. */
const first = (days: readonly (string | null)[]): string | null =>
  days.filter((day) => day !== null).sort()[0] ?? null
const last = (days: readonly (string | null)[]): string | null =>
  days
    .filter((day) => day !== null)
    .sort()
    .at(-1) ?? null

/** Days since each shop closed its first invoice. */
function daysOpen(business: Business): ReadonlyMap<unknown, number> {
  const open = new Map<unknown, number>()
  for (const { order } of business.invoices) {
    const shop = order.shop_id ?? null
    open.set(shop, Math.max(open.get(shop) ?? -1, business.age(order) ?? 0))
  }
  return open
}

function inventoryValue(business: Business): Row[] {
  const parts = business.invoices.flatMap(({ order, lines }) => {
    const [day, age] = [business.closed(order), business.age(order) ?? 1000]
    return lines.filter(({ kind }) => kind === 'part').map((line) => ({ line, day, age }))
  })
  const open = daysOpen(business)
  return business.records.of('inventories').map((item) => {
    const [onHand, ordered, least] = [
      unitsOf(item.quantity_on_hand),
      unitsOf(item.quantity_ordered_for_stock),
      unitsOf(item.min_stock),
    ]
    const short = onHand === null || ordered === null || least === null ? null : least - onHand - ordered
    const value = worth(onHand, item.cost_cents)
    const all = parts.filter(({ line }) => line.item.part_inventory_id === item.id)
    const own = all.filter(({ age }) => age <= 365).map(({ line }) => line)
    const taken = all.filter(({ line }) => (line.units ?? 0n) > 0n)
    const cost = sum(own.map((line) => line.cost))
    const isNew = (open.get(item.shop_id ?? null) ?? -1) < 60
    return {
      ...business.shop(item.shop_id),
      ...business.named('vendor', 'vendors', item.primary_vendor_id),
      inventory_id: item.id,
      inventory_key: key(business.tenant, item.id),
      type: item.type ?? null,
      brand: item.brand ?? null,
      part_number: item.number ?? null,
      description: item.description ?? null,
      quantity_on_hand: shownNanos(onHand),
      min_stock: shownNanos(least),
      max_stock: shownNanos(unitsOf(item.max_stock)),
      quantity_ordered_for_stock: shownNanos(ordered),
      units_short: short === null ? null : shownNanos(short > 0n ? short : 0n),
      below_min: short === null ? null : short > 0n,
      cost_cents: priceOf(item.cost_cents),
      on_hand_cents: value,
      sold_12_months: shownNanos(sum(own.map(({ units }) => units))),
      sold_unknown: unknowns(own.map(({ units }) => units)),
      sold_without_cost: unknowns(own.map((line) => line.cost)),
      sold_cost_cents: cost,
      last_sold_on: last(taken.map(({ day }) => day)),
      shop_is_new: isNew,
      created_on: business.day(item.shop_id, item.created_at),
      turns: value === null || value <= 0n || isNew ? null : Number(divided(100n * cost, value)) / 100,
    }
  })
}

const purchases = (business: Business): Row[] =>
  business.records.of('purchase_records').flatMap((record) =>
    list(record, 'line_items').map((item, position) => {
      const plain = unitsOf(item.quantity)
      const units = plain === null || record.is_return !== true ? plain : -magnitude(plain)
      return {
        ...business.shop(record.shop_id),
        ...business.named('vendor', 'vendors', record.vendor_id),
        purchase_record_id: record.id,
        purchase_record_key: key(business.tenant, record.id),
        position,
        invoice_number: record.invoice_number ?? null,
        payment_type: record.payment_type ?? null,
        is_return: record.is_return ?? null,
        inventory_id: item.inventory_id ?? null,
        inventory_key: key(business.tenant, item.inventory_id),
        quantity: shownNanos(units),
        unit_cost_cents: priceOf(item.cost_cents),
        amount_cents: worth(units, item.cost_cents),
        day: business.day(record.shop_id, record.created_at),
        entered_at: instantOf(record.created_at),
        entered_at_local: business.clock(record.shop_id, record.created_at),
      }
    }),
  )

/** Only shops that have sold something: the others are in the dimension because something refers to them. */
const shops = (business: Business): Row[] =>
  groups(business.invoices, ({ order }) => [order.shop_id]).map(([{ order }, bills]) => ({
    ...business.shop(order.shop_id),
    first_day: first(bills.map((bill) => business.closed(bill.order))),
    time_zone: business.zone(order.shop_id),
    is_deleted: false,
    is_revoked: false,
  }))

const tenants = (business: Business): Row[] => [
  {
    ...business.shop(null),
    tenant_key: String(business.tenant),
    first_day: first(business.invoices.map(({ order }) => business.closed(order))),
    is_revoked: false,
    revoked_at: null,
  },
]

/** The number by which people reach a customer: the preferred one, otherwise the first, otherwise the old field. */
function phoneOf(customer: Fields): string | null {
  const isNumber = (text: unknown): text is string => typeof text === 'string' && text.length > 1
  const phones = list(customer, 'phones')
  const sorted = [...phones.filter(({ preferred }) => preferred === true), ...phones]
  const shown = sorted.map(({ national, number }) => [national, number].find(isNumber)).find(isNumber)
  return shown ?? (isNumber(customer.phone) ? customer.phone : null)
}

const customers = (business: Business): Row[] =>
  business.records.of('customers').map((one) => ({
    tenant_id: business.tenant,
    customer_id: one.id,
    customer_key: key(business.tenant, one.id),
    full_name: business.nameOf('customers', one.id),
    first_name: one.first_name ?? null,
    last_name: one.last_name ?? null,
    city: one.city ?? null,
    region: one.state ?? null,
    zip: one.zip ?? null,
    marketing_ok: one.marketing_ok ?? null,
    is_deleted: false,
    phone: phoneOf(one),
    email: typeof one.email === 'string' && one.email !== '' ? one.email : null,
    // Shops share customers: their clock is that of no shop.
    entered_at: instantOf(one.created_at),
    entered_on: business.day(null, one.created_at),
    entered_at_local: business.clock(null, one.created_at),
  }))

const staffs = (business: Business): Row[] =>
  business.records.of('staffs').map((one) => ({
    ...business.shop(null),
    ...business.named('staff', 'staffs', one.id),
    is_advisor: one.advisor ?? null,
    is_technician: one.technician ?? null,
    is_active: one.active ?? null,
    is_deleted: false,
  }))

const vendors = (business: Business): Row[] =>
  business.records.of('vendors').map((one) => ({
    ...business.shop(one.shop_id),
    ...business.named('vendor', 'vendors', one.id),
    is_deleted: false,
  }))

const vehicles = (business: Business): Row[] =>
  business.records.of('vehicles').map((one) => ({
    ...business.shop(null),
    ...business.named('vehicle', 'vehicles', one.id),
    is_deleted: false,
  }))

export const otherViews = {
  recommendation_conversion: recommendations,
  earlier_recommendations: earlierRecommendations,
  appointment_load: appointmentLoad,
  handovers,
  inventory_value: inventoryValue,
  purchases,
  dim_shops: shops,
  dim_tenants: tenants,
  dim_customers: customers,
  dim_staffs: staffs,
  dim_vendors: vendors,
  dim_vehicles: vehicles,
}

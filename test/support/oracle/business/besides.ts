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
import { type Business, groups, minutesFrom } from './business.js'

const decisionOf = (approved: unknown): string =>
  approved === true ? 'approved' : approved === false ? 'declined' : 'undecided'

/** The category of what a recommendation recommends. */
const categoryOf = (business: Business, recommendation: Fields | undefined): Row =>
  business.category((recommendation?.service as Fields | null | undefined)?.category_id)

/** What can still be sold of something that was recommended, once or again. */
const toSell = (isDone: boolean, isApproved: boolean, isGone: boolean): Row => ({
  is_to_sell: !isDone && !isApproved && !isGone,
  is_approved_unsold: !isDone && isApproved && !isGone,
})

export function recommendations(business: Business): Row[] {
  const past = business.records.of('past_recommendations')
  return business.records.of('recommendations').map((one) => {
    const own = past.filter(({ recommendation_id }) => recommendation_id === one.id)
    const isDone = [one, ...own].some(({ imported, done }) => imported === true || done === true)
    const isApproved = [one, ...own].some(({ approved }) => approved === true)
    return {
      ...one,
      ...business.about(business.orderOf(one)),
      ...business.aboutOrderOf(one),
      ...categoryOf(business, one),
      recommendation_id: one.id,
      kind: typeof one.quick_price_cents === 'number' ? 'quick' : 'service',
      decision: decisionOf(one.approved),
      sold_later: own.some(({ imported }) => imported === true),
      value_cents: worthOfRecommendation(one),
      recommended_at: one.created_at,
      done: isDone,
      ...toSell(isDone, isApproved, business.hasLostOrder(one)),
    }
  })
}

const earlierRecommendations = (business: Business): Row[] =>
  business.records.of('past_recommendations').map((one) => {
    const source = business.record('recommendations', one.recommendation_id)
    const isDone = one.done === true || one.imported === true
    const isApproved = one.approved === true || source?.approved === true
    return {
      ...one,
      ...business.aboutOrderOf(source),
      ...categoryOf(business, source),
      customer_id: business.orderOf(source)?.customer_id,
      past_recommendation_id: one.id,
      recommended_at: source?.created_at,
      unsold_at: one.created_at,
      decided_at: one.approval_at,
      decision: decisionOf(one.approved),
      done: isDone,
      ...toSell(isDone || source?.imported === true, isApproved, business.hasLostOrder(source)),
      value_cents: source ? worthOfRecommendation(source) : null,
    }
  })

export const appointmentLoad = (business: Business): Row[] =>
  business.records.of('appointments').map((one) => {
    const order = business.orderOf(one)
    const isOver = Date.parse(String(one.start_at)) <= Date.parse(business.now)
    const open = isOver ? 'work not begun' : 'to come'
    const outcome = order === undefined ? 'order gone' : order.started_at ? 'came' : open
    return {
      ...one,
      appointment_id: one.id,
      day: business.day(one.shop_id, one.start_at),
      minutes: minutesFrom(one.start_at, one.end_at),
      // What happened to its order, in the days of the order's own shop.
      outcome: typeof one.repair_order_id === 'number' ? outcome : 'no order',
      order_created_on: business.day(order?.shop_id, order?.created_at),
      work_begun_on: business.day(order?.shop_id, order?.started_at),
    }
  })

const handovers = (business: Business): Row[] =>
  business.records.of('assignments').map((one) => ({
    ...one,
    ...business.aboutOrderOf(one),
    from_staff_id: one.transfer_from_id,
    to_staff_id: one.transfer_to_id,
    assignment_id: one.id,
    day: business.day(business.orderOf(one)?.shop_id, one.created_at),
    minutes_to_accept: minutesFrom(one.created_at, one.accepted_at),
    outcome: one.cancelled_at ? 'cancelled' : one.accepted_at ? 'accepted' : 'open',
  }))

/** Days since each shop closed its first invoice. */
function daysOpen(business: Business): ReadonlyMap<unknown, number> {
  const byShop = groups(business.invoices, ({ order }) => [order.shop_id])
  return new Map(
    byShop.map(([{ order }, bills]) => [
      order.shop_id,
      Math.max(...bills.map((bill) => business.age(bill.order) ?? -1)),
    ]),
  )
}

function inventoryValue(business: Business): Row[] {
  const parts = business.invoices.flatMap((bill) =>
    bill.lines.filter(({ kind }) => kind === 'part').map((line) => ({ ...line, bill })),
  )
  const open = daysOpen(business)
  return business.records.of('inventories').map((item) => {
    const units = (name: string): bigint | null => unitsOf(item[name])
    const [onHand, ordered, least] = ['quantity_on_hand', 'quantity_ordered_for_stock', 'min_stock'].map(
      units,
    )
    const isStockKnown =
      typeof onHand === 'bigint' && typeof ordered === 'bigint' && typeof least === 'bigint'
    const short = isStockKnown ? least - onHand - ordered : null
    const value = worth(onHand ?? null, item.cost_cents)
    const all = parts.filter((line) => line.item.part_inventory_id === item.id)
    const own = all.filter(({ bill }) => (business.age(bill.order) ?? 1000) <= 365)
    const cost = sum(own.map((line) => line.cost))
    const taken = all.filter((line) => (line.units ?? 0n) > 0n)
    const isNew = (open.get(item.shop_id) ?? -1) < 60
    const shown = ['quantity_on_hand', 'quantity_ordered_for_stock', 'min_stock', 'max_stock']
    return {
      ...item,
      ...Object.fromEntries(shown.map((name) => [name, shownNanos(units(name))])),
      vendor_id: item.primary_vendor_id,
      inventory_id: item.id,
      part_number: item.number,
      units_short: short === null ? null : shownNanos(short > 0n ? short : 0n),
      below_min: short === null ? null : short > 0n,
      cost_cents: priceOf(item.cost_cents),
      on_hand_cents: value,
      sold_12_months: shownNanos(sum(own.map((line) => line.units))),
      sold_unknown: unknowns(own.map((line) => line.units)),
      sold_without_cost: unknowns(own.map((line) => line.cost)),
      sold_cost_cents: cost,
      last_sold_on: business.closings(taken.map(({ bill }) => bill)).at(-1),
      shop_is_new: isNew,
      turns: value === null || value <= 0n || isNew ? null : Number(divided(100n * cost, value)) / 100,
    }
  })
}

export const purchases = (business: Business): Row[] =>
  business.records.of('purchase_records').flatMap((record) =>
    list(record, 'line_items').map((item, position) => {
      const plain = unitsOf(item.quantity)
      const units = plain === null || record.is_return !== true ? plain : -magnitude(plain)
      return {
        ...record,
        position,
        purchase_record_id: record.id,
        inventory_id: item.inventory_id,
        quantity: shownNanos(units),
        unit_cost_cents: priceOf(item.cost_cents),
        amount_cents: worth(units, item.cost_cents),
        day: business.day(record.shop_id, record.created_at),
        entered_at: record.created_at,
      }
    }),
  )

/** Only shops that have sold something: the others are in the dimension because something refers to them. */
const shops = (business: Business): Row[] =>
  groups(business.invoices, ({ order }) => [order.shop_id]).map(([{ order }, bills]) => ({
    shop_id: order.shop_id,
    first_day: business.closings(bills)[0],
    time_zone: business.zone(order.shop_id),
    is_deleted: false,
    is_revoked: false,
  }))

const tenants = (business: Business): Row[] => [
  {
    tenant_key: String(business.tenant),
    first_day: business.closings(business.invoices)[0],
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
    ...one,
    customer_id: one.id,
    full_name: business.nameOf('customers', one.id),
    region: one.state,
    is_deleted: false,
    phone: phoneOf(one),
    email: typeof one.email === 'string' && one.email !== '' ? one.email : null,
    // Shops share customers: their clock is that of no shop.
    entered_at: one.created_at,
  }))

const staffs = (business: Business): Row[] =>
  business.records.of('staffs').map(({ id, advisor, technician, active }) => ({
    staff_id: id,
    is_advisor: advisor,
    is_technician: technician,
    is_active: active,
    is_deleted: false,
  }))

const vendors = (business: Business): Row[] =>
  business.records.of('vendors').map(({ id, shop_id }) => ({ vendor_id: id, shop_id, is_deleted: false }))

const vehicles = (business: Business): Row[] =>
  business.records.of('vehicles').map(({ id }) => ({ vehicle_id: id, is_deleted: false }))

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

/**
 * Every figure of every shop and month in memory, from the records as the API sends them: the business definitions
 * again, by hand. Shares no code with the product, and knows nothing of schema/figures.
 */
import { list, sum, unitsOf, worth } from './amounts.js'
import { type Bill, exemptOf, taxableOf, untaxedOf, worthOfRecommendation } from './bills.js'
import { type Business, isFirstVisit, minutesFrom } from './business.js'
import { placedPayment } from './payments.js'

/** A figure's value in a group. Unknown is null; `left` is how many rows have no value. */
export interface Expected {
  numerator: bigint | null
  denominator?: bigint
  left: number
}

type Value = bigint | null

interface Sum {
  readonly values: Value[]
  readonly below: bigint[]
  readonly seen: Set<unknown>
  readonly things: Set<unknown>
  left: number
  /** Rows with a value. */
  known: number
}

/** The figures of one shop and month: each is a list of what its rows add. */
class Month {
  private readonly sums = new Map<string, Sum>()

  private of(name: string): Sum {
    const found = this.sums.get(name) ?? {
      values: [],
      below: [],
      seen: new Set(),
      things: new Set(),
      left: 0,
      known: 0,
    }
    this.sums.set(name, found)
    return found
  }

  add(name: string, value: Value, below?: bigint): void {
    const figure = this.of(name)
    figure.values.push(value)
    if (value === null) figure.left += 1
    else figure.known += 1
    if (below !== undefined) figure.below.push(below)
  }

  /** Adds to a sum that is divided by how many different things there are. */
  addPer(name: string, value: Value, thing: unknown): void {
    const { things } = this.of(name)
    this.add(name, value, one(!things.has(thing)))
    things.add(thing)
  }

  /** Counts rows that are left out although they count as something. */
  miss(name: string, isMissing: boolean): void {
    if (isMissing) this.of(name).left += 1
  }

  /** Counts the rows for which it is true, among those where it is known. */
  count(name: string, isSuch: boolean | null, below?: bigint): void {
    this.add(name, isSuch === null ? null : one(isSuch), below)
  }

  see(name: string, value: unknown): void {
    const figure = this.of(name)
    if (value === null || value === undefined) figure.left += 1
    else {
      figure.seen.add(value)
      figure.known += 1
    }
  }

  result(): Map<string, Expected> {
    return new Map(
      [...this.sums].map(([name, { values, below, seen, left, known }]) => {
        const numerator = known === 0 ? null : BigInt(seen.size) + sum(values)
        return [name, { numerator, ...(below.length > 0 && { denominator: sum(below) }), left }]
      }),
    )
  }
}

const one = (isIt: boolean): bigint => (isIt ? 1n : 0n)

/** No sum includes hours of 10^9 and more. */
const sane = (hours: bigint): bigint => (hours >= 10n ** 18n || hours <= -(10n ** 18n) ? 0n : hours)

function addInvoice(month: Month, business: Business, bill: Bill): void {
  const { order, lines, sales, profit, discount, fee, taxes, tax, total } = bill
  const hours = sane(bill.hours)
  const isUnpriced = lines.some(({ amount }) => amount === null)
  month.add('sales_cents', sales)
  month.add('invoices', 1n)
  month.add('gross_profit_cents', profit)
  month.add('gross_margin', profit, profit === null ? 0n : sales)
  month.add('gross_profit_per_hour', profit, profit === null ? 0n : hours)
  month.add('average_repair_order', sales, 1n)
  month.add('hours_sold', hours)
  month.add('hours_per_order', hours, 1n)
  for (const name of ['sales_cents', 'average_repair_order', 'hours_sold', 'hours_per_order'])
    month.miss(name, isUnpriced)
  const labors = lines.filter(({ kind }) => kind === 'labor')
  const labor = sum(labors.map(({ amount }) => amount)) - discount.labor
  month.add('effective_labor_rate', labor, sane(bill.ratedHours))
  month.miss('effective_labor_rate', bill.ratedHours !== bill.hours)
  month.see('cars', order.vehicle_id)
  month.see('customers', order.customer_id)
  const isNew = typeof order.customer_id === 'number' ? isFirstVisit(business, order) === true : null
  month.count('new_customers', isNew)
  month.add('discounts_cents', discount.labor + discount.part)
  month.add('supply_fees_cents', fee)
  month.add('invoiced_cents', total)
  month.add('tax_cents', sum(taxes))
  month.miss('tax_cents', tax === null)
  for (const [i, kind] of ['labor', 'parts', 'sublets', 'hazmats'].entries())
    month.add(`${kind}_tax_cents`, taxes[i] ?? null)
  month.add('exempt_sales_cents', exemptOf(bill))
  month.add('taxable_sales_cents', taxableOf(bill))
  month.add('untaxed_sales_cents', untaxedOf(bill))
  if (typeof order.vehicle_id === 'number') {
    month.addPer('hours_per_car', hours, order.vehicle_id)
    month.miss('hours_per_car', isUnpriced)
  }
  for (const { kind, amount, cost } of lines)
    if (kind === 'part') {
      const margin = amount === null || cost === null ? null : amount - cost
      month.add('parts_margin', margin, margin === null ? 0n : (amount ?? 0n))
      month.add('parts_cost_cents', cost)
    }
  const minutes = minutesFrom(order.created_at, order.closed_at)
  month.add('days_to_close', minutes, one(minutes !== null))
  const isLate =
    typeof order.due_out_at === 'string'
      ? Date.parse(String(order.closed_at)) > Date.parse(order.due_out_at)
      : null
  month.count('share_late', isLate, one(isLate !== null))
}

interface Placed {
  month(shop: unknown, day: string | null): Month
}

function addPayments(placed: Placed, business: Business): void {
  for (const payment of business.records.of('payments')) {
    const { shop, day, isDeposit, amount } = placedPayment(business, payment)
    const month = placed.month(shop, day)
    month.add('collected_cents', amount)
    month.add('refunds_cents', amount === null ? null : amount < 0n ? amount : 0n)
    month.add('deposits_cents', amount === null ? null : isDeposit ? amount : 0n)
  }
}

function addRecommendations(placed: Placed, business: Business): void {
  const sold = new Set(
    business.records
      .of('past_recommendations')
      .flatMap(({ recommendation_id, imported }) => (imported === true ? [recommendation_id] : [])),
  )
  const done = new Set(
    business.records
      .of('past_recommendations')
      .filter(({ imported, done, approved }) => [imported, done, approved].includes(true))
      .map(({ recommendation_id }) => recommendation_id),
  )
  for (const made of business.records.of('recommendations')) {
    const order = business.byOrder.get(Number(made.repair_order_id))?.order
    const isSold = made.approved === true || made.imported === true || sold.has(made.id)
    const month = placed.month(order?.shop_id ?? null, business.day(order?.shop_id, made.created_at))
    month.add('recommendation_close_rate', one(isSold), 1n)
    const isGone = typeof made.repair_order_id === 'number' && order === undefined
    if (!isSold && !isGone && !done.has(made.id)) month.add('to_sell_cents', worthOfRecommendation(made))
  }
}

function addRest(placed: Placed, business: Business): void {
  for (const record of business.records.of('purchase_records'))
    for (const item of list(record, 'line_items')) {
      const plain = unitsOf(item.quantity)
      const units = plain !== null && record.is_return === true ? -(plain < 0n ? -plain : plain) : plain
      const month = placed.month(record.shop_id, business.day(record.shop_id, record.created_at))
      month.add('purchases_cents', worth(units, item.cost_cents))
    }
  for (const attempt of business.records.of('payment_transactions')) {
    const shop = business.byOrder.get(Number(attempt.repair_order_id))?.order.shop_id ?? null
    const month = placed.month(shop, business.day(shop, attempt.created_at))
    month.add('declined_cards', one(attempt.status !== 'approved'))
  }
  for (const appointment of business.records.of('appointments')) {
    const month = placed.month(appointment.shop_id, business.day(appointment.shop_id, appointment.start_at))
    const order = business.byOrder.get(Number(appointment.repair_order_id))?.order
    const hasNone = appointment.repair_order_id === null || appointment.repair_order_id === undefined
    const came = !hasNone && typeof order?.started_at === 'string'
    const isToCome =
      !came && order !== undefined && Date.parse(String(appointment.start_at)) > Date.parse(business.now)
    month.count('appointments_kept', hasNone || isToCome ? null : came, one(!hasNone && !isToCome))
  }
}

/** By `TENANT-SHOP-MONTH`, or `TENANT-SHOP-DAY` if `period` keeps the day: the figures by name. */
export function expectedFigures(
  businesses: readonly Business[],
  period: (day: string | null) => string | null,
): Map<string, Map<string, Expected>> {
  const months = new Map<string, Month>()
  for (const business of businesses) {
    const placed: Placed = {
      month: (shop, day) => {
        const key = `${business.tenant}-${shop ?? 'none'}-${period(day) ?? 'none'}`
        const month = months.get(key) ?? new Month()
        months.set(key, month)
        return month
      },
    }
    for (const bill of business.bills) addBill(placed, business, bill)
    addPayments(placed, business)
    addRecommendations(placed, business)
    addRest(placed, business)
  }
  return new Map([...months].map(([key, month]) => [key, month.result()]))
}

function addBill(placed: Placed, business: Business, bill: Bill): void {
  const { order } = bill
  const created = placed.month(order.shop_id, business.day(order.shop_id, order.created_at))
  const isSold = typeof order.started_at === 'string' || order.state !== 'estimate'
  created.add('estimate_close_rate', one(isSold), 1n)
  if (order.state === 'invoice')
    addInvoice(placed.month(order.shop_id, business.closed(order)), business, bill)
}

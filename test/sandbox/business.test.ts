/** The generated records could be a business: figures that people in the trade look at first, for several seeds. */
import { DateTime } from 'luxon'
import { expect, it } from 'vitest'
import { type ApiRecord, createSandbox } from '../../src/sandbox/index.js'
import { sample } from '../support/harness/size.js'
import { groups } from '../support/oracle/business/business.js'
import { HandClock } from '../support/world/clocks.js'

// biome-ignore lint/suspicious/noExplicitAny: records of every resource are read here
type Row = ApiRecord & Record<string, any>

/** A Tuesday afternoon in America: the shops are at work. */
const until = '2026-03-03T20:00:00Z'
const day = 86_400_000

const daysSince = (at: unknown): number => (Date.parse(until) - Date.parse(String(at))) / day
const age = ({ created_at }: Row): number => daysSince(created_at)
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
const share = <T>(items: readonly T[], test: (item: T) => boolean): number =>
  items.filter(test).length / items.length
const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0)
const isRed = ({ services }: Row): boolean =>
  services.some(({ inspections }: Row) => inspections.some(({ state }: Row) => state === 'red'))
const hours = 'Mon–Fri 07:30–18:00, Sat 08:00–13:00'
const costOf = (parts: readonly Row[]): number =>
  sum(parts.map(({ cost_cents, quantity }) => (cost_cents ?? 0) * quantity))
const partsOf = (orders: readonly Row[]): Row[] =>
  orders.flatMap(({ services }) => services.flatMap(({ parts }: Row) => parts))

class Business {
  private constructor(private readonly records: ReadonlyMap<string, Row[]>) {}

  static async of(seed: number, repairOrders: number, shops: number): Promise<Business> {
    const tenants = [{ id: 101, repairOrders, shops }]
    const { store, close } = await createSandbox({ tenants, seed, clock: new HandClock(until) })
    const records = store.resources.map((resource) => [resource, store.all(101, resource) as Row[]] as const)
    await close()
    return new Business(new Map(records))
  }

  all(resource: string): Row[] {
    return this.records.get(resource) ?? []
  }

  orders(state: string): Row[] {
    return this.all('repair_orders').filter((order) => order.state === state)
  }

  get invoices(): Row[] {
    return this.orders('invoice')
  }

  /** The local time at the shop. */
  local({ shop_id }: Row, at: string): DateTime {
    return DateTime.fromISO(at, { zone: this.all('shops').find(({ id }) => id === shop_id)?.time_zone })
  }

  carsPerDay(field: 'started_at' | 'closed_at'): number {
    const days = this.invoices.map(
      (order) => `${order.technician_id} ${this.local(order, order[field]).toISODate()}`,
    )
    return days.length / new Set(days).size
  }

  isClosedOutsideHours(order: Row): boolean {
    const { weekday, hour, minute } = this.local(order, order.closed_at)
    const time = hour + minute / 60
    return weekday === 7 || (weekday === 6 ? time < 8 || time >= 13 : time < 7.5 || time >= 18)
  }

  /** Orders by day with any, in this month of all years. */
  perDayOf(month: number): number {
    const days = this.all('repair_orders').map(({ created_at }) => new Date(created_at ?? ''))
    const found = days
      .filter((one) => one.getUTCMonth() === month)
      .map((one) => one.toISOString().slice(0, 10))
    return found.length / new Set(found).size
  }

  /** The lowest labor rate of the orders of each half year: what is added to an order later has that day's rate. */
  rates(): number[] {
    const orders = this.all('repair_orders')
    const first = Math.min(...orders.map(({ created_at }) => Date.parse(created_at ?? '')))
    const halfOf = ({ created_at }: Row): number =>
      Math.floor((Date.parse(String(created_at)) - first) / (182 * day))
    const ratesOf = ({ services }: Row): number[] =>
      services.flatMap((one: Row) => one.labor_rate_cents ?? [])
    const halves = groups(orders, (order) => [halfOf(order)]).sort(([a], [b]) => halfOf(a) - halfOf(b))
    return halves.map(([, half]) => Math.min(...half.flatMap(ratesOf)))
  }
}

type Figure = readonly [what: string, found: number, least: number, most: number]
const any = Number.POSITIVE_INFINITY

/** Parts and their stock, cars and appointments. */
function figuresOfWork(business: Business): Figure[] {
  const { invoices } = business
  const [orders, work, estimates] = [
    business.all('repair_orders'),
    business.orders('in_progress'),
    business.orders('estimate'),
  ]
  const [parts, stock] = [
    partsOf(invoices),
    new Map(business.all('inventories').map((item) => [item.id, item])),
  ]
  const optimized = parts.filter(({ part_inventory_id: id }) => stock.get(id)?.gp_optimizer_active)
  const priced = ({ part_inventory_id: id, quoted_price_cents }: Row) =>
    quoted_price_cents === stock.get(id)?.gp_price_cents
  const sold = sum(parts.map((part) => (part.quoted_price_cents ?? 0) * part.quantity))
  const bought = sum(
    business.all('purchase_records').map((one) => costOf(one.line_items) * (one.is_return ? -1 : 1)),
  )
  const booked = business.all('appointments').filter(({ repair_order_id: id }) => id !== null)
  const ahead = booked.map(
    ({ start_at, created_at }) => (Date.parse(start_at) - Date.parse(created_at)) / day,
  )
  const red = new Set(orders.filter(isRed).map(({ id }) => id))
  const advice = business.all('recommendations').map((one) => one.repair_order_id)
  const isAdvised = ({ id }: Row) => advice.includes(id)
  return [
    ['cars begun per technician and working day', business.carsPerDay('started_at'), 3, 3.7],
    ['cars done per technician and working day', business.carsPerDay('closed_at'), 3, 3.7],
    [
      'invoices closed outside opening hours',
      invoices.filter((one) => business.isClosedOutsideHours(one)).length,
      0,
      0,
    ],
    ['the margin of parts', 1 - costOf(parts) / sold, 0.45, 0.55],
    ['parts that the optimizer prices', optimized.length / parts.length, 0.8, 1],
    ['of these, sold at another price', 1 - share(optimized, priced), 0.01, 0.1],
    ['what is bought, of what is used', bought / costOf(partsOf([...invoices, ...work])), 0.95, 1.05],
    ['estimates', estimates.length, 6, any],
    ['days since an estimate', median(estimates.map(age)), 3, 40],
    ['days since the oldest estimate', Math.max(...estimates.map(age)), 0, 180],
    ['orders in work', work.length, 2, any],
    ['days since work began', median(work.map(({ started_at }) => daysSince(started_at))), 0, 5],
    ['cars that were late', share(invoices, ({ closed_at, due_out_at }) => closed_at > due_out_at), 0.1, 0.2],
    ['orders with an appointment', booked.length / orders.length, 0.4, 1],
    ['days from booking to appointment', median(ahead), 1, 10],
    ['appointments of half a day before', share(ahead, (days) => days < 0.5), 0, 0.15],
    ['recommendations for a red inspection', share(advice, (id) => red.has(id)), 0.6, 1],
    ['red inspections with a recommendation', share(orders.filter(isRed), isAdvised), 0.75, 1],
    [
      'others with a recommendation',
      share(
        orders.filter((one) => !isRed(one)),
        isAdvised,
      ),
      0,
      0.2,
    ],
    [
      'orders of Sundays',
      share(orders, ({ created_at }) => new Date(created_at ?? '').getUTCDay() === 0),
      0,
      0.03,
    ],
    ['orders a day in November, for one in February', business.perDayOf(10) / business.perDayOf(1), 1.2, any],
  ]
}

/** Customers and their money, rates, names and places. */
function figuresOf(business: Business, shops: number): Figure[] {
  const [orders, payments, cards] = ['repair_orders', 'payments', 'payment_transactions'].map((name) =>
    business.all(name),
  ) as [Row[], Row[], Row[]]
  const unpaid = business.invoices.filter((order) => order.payments.length === 0)
  const sources = groups(orders, ({ customer_source }) => [customer_source]).map(
    ([one, { length }]) => [one.customer_source, length / orders.length] as const,
  )
  const shareOf = (isRepeat: boolean) =>
    Math.max(...sources.flatMap(([name, part]) => ((name === 'Repeat') === isRepeat ? part : [])))
  const accepted = new Set(
    cards.filter(({ status }) => status === 'approved').map((one) => one.repair_order_id),
  )
  const refused = cards.filter(({ status }) => status !== 'approved')
  const rates = business.rates()
  const raises = rates.slice(1).map((rate, i) => rate / (rates[i] ?? 0))
  const places = business.all('shops')
  const different = (of: (shop: Row) => string) => new Set(places.map(of)).size
  const isNamed = ({ year, make, model }: Row) => year > 1990 && /^\S.* \S/.test(`${make} ${model}`)
  return [
    ...figuresOfWork(business),
    ['returning customers', shareOf(true), 0.55, 1],
    ['the largest other source of customers', shareOf(false), 0, 0.15],
    ['unpaid invoices', unpaid.length, 3, any],
    ['of these, from the last month', share(unpaid, ({ closed_at }) => daysSince(closed_at) <= 31), 0.5, 1],
    ['cards that are refused', refused.length / cards.length, 0.001, 0.1],
    ['of these, refused for good', share(refused, (one) => !accepted.has(one.repair_order_id)), 0.05, 0.5],
    ['refunds', share(payments, ({ amount_cents }) => amount_cents < 0), 0.002, 0.05],
    ['deposits', payments.filter(({ notes }) => notes === 'Deposit').length, 21, any],
    ['half years with a labor rate', rates.length, 2, any],
    ['the smallest raise from one to the next', Math.min(...raises), 1, any],
    ['the raise of them all', (rates.at(-1) ?? 0) / (rates[0] ?? 0), 1 + 0.015 * raises.length, any],
    ['names of shops', different(({ name }) => name), shops, shops],
    ['states and zones of the shops', different(({ state, time_zone }) => `${state} ${time_zone}`), 1, 1],
    ['areas of the shops', different(({ zip }) => zip.slice(0, 2)), 1, 1],
    ['other hours of the shops', places.filter(({ opening_hours }) => opening_hours !== hours).length, 0, 0],
    ['vendors without a name', business.all('vendors').filter(({ name }) => !/\w/.test(name)).length, 0, 0],
    ['vehicles without year, make and model', share(business.all('vehicles'), (one) => !isNamed(one)), 0, 0],
  ]
}

const businesses = [
  [2, 2200, 1],
  [1, 3400, 1],
  [3, 3600, 3],
] as const

it.each(sample(businesses))(
  'a business of seed %i with %i orders in %i shops',
  async (seed, count, shops) => {
    const figures = figuresOf(await Business.of(seed, count, shops), shops)
    expect(figures.length).toBeGreaterThan(30)
    expect(figures.filter(([, found, least, most]) => !(found >= least && found <= most))).toEqual([])
  },
)

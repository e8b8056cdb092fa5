/** The generated records could be a business: figures that people in the trade look at first, for several seeds. */
import { DateTime } from 'luxon'
import { beforeAll, describe, expect, it } from 'vitest'
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

  /** Parts whose price the optimizer computes, and their items. */
  optimized(): [part: Row, item: Row][] {
    const stock = new Map(this.all('inventories').map((item) => [item.id, item]))
    return partsOf(this.invoices).flatMap((part): [Row, Row][] => {
      const item = stock.get(part.part_inventory_id)
      return item?.gp_optimizer_active ? [[part, item]] : []
    })
  }

  /** The cost of what was bought. */
  bought(): number {
    return sum(
      this.all('purchase_records').map(
        ({ is_return, line_items }) => costOf(line_items) * (is_return ? -1 : 1),
      ),
    )
  }

  isRed = ({ services }: Row): boolean =>
    services.some(({ inspections }: Row) => inspections.some(({ state }: Row) => state === 'red'))

  /** The orders with and without a red inspection that have a recommendation. */
  advised(isRed: boolean): number {
    const known = new Set(this.all('recommendations').map((advice) => advice.repair_order_id))
    return share(
      this.all('repair_orders').filter((order) => this.isRed(order) === isRed),
      ({ id }) => known.has(id),
    )
  }

  /** Orders by day with any, in this month of all years. */
  perDayOf(month: number): number {
    const days = this.all('repair_orders').map(({ created_at }) => new Date(created_at ?? ''))
    const found = days
      .filter((one) => one.getUTCMonth() === month)
      .map((one) => one.toISOString().slice(0, 10))
    return found.length / new Set(found).size
  }

  /** How many days ahead the cars of the appointments are known. */
  daysAhead(): number[] {
    const booked = this.all('appointments').filter(({ repair_order_id: id }) => id !== null)
    return booked.map(({ start_at, created_at }) => (Date.parse(start_at) - Date.parse(created_at)) / day)
  }

  /** Cards that were refused, and whether any was accepted for the order. */
  refused(): boolean[] {
    const all = this.all('payment_transactions')
    const accepted = new Set(
      all.filter(({ status }) => status === 'approved').map((one) => one.repair_order_id),
    )
    return all.filter(({ status }) => status !== 'approved').map((one) => accepted.has(one.repair_order_id))
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

const unpaid = ({ payments }: Row): boolean => payments.length === 0
const isRefund = ({ amount_cents }: Row): boolean => amount_cents < 0
const optimizer = ([part, item]: [Row, Row]): boolean => part.quoted_price_cents !== item.gp_price_cents
const any = Number.POSITIVE_INFINITY

/** What is counted, its least, its most, and how: both ends included. */
const figures: readonly [what: string, least: number, most: number, of: (business: Business) => number][] = [
  ['cars begun per technician and working day', 3, 3.7, (b) => b.carsPerDay('started_at')],
  ['cars done per technician and working day', 3, 3.7, (b) => b.carsPerDay('closed_at')],
  [
    'invoices closed outside opening hours',
    0,
    0,
    (b) => b.invoices.filter((one) => b.isClosedOutsideHours(one)).length,
  ],
  [
    'the margin of parts',
    0.45,
    0.55,
    ({ invoices }) => {
      const parts = partsOf(invoices)
      return 1 - costOf(parts) / sum(parts.map((part) => (part.quoted_price_cents ?? 0) * part.quantity))
    },
  ],
  ['parts that the optimizer prices', 0.8, 1, (b) => b.optimized().length / partsOf(b.invoices).length],
  ['of these, sold at another price', 0.01, 0.1, (b) => share(b.optimized(), optimizer)],
  [
    'what is bought, of what is used',
    0.95,
    1.05,
    (b) => b.bought() / costOf(partsOf([...b.invoices, ...b.orders('in_progress')])),
  ],
  [
    'returning customers',
    0.55,
    1,
    (b) => share(b.all('repair_orders'), ({ customer_source }) => customer_source === 'Repeat'),
  ],
  [
    'the largest other source of customers',
    0,
    0.15,
    (b) => {
      const sources = groups(b.all('repair_orders'), ({ customer_source }) => [customer_source])
      const others = sources.filter(([{ customer_source }]) => customer_source !== 'Repeat')
      return Math.max(...others.map(([, { length }]) => length)) / b.all('repair_orders').length
    },
  ],
  ['unpaid invoices', 3, any, ({ invoices }) => invoices.filter(unpaid).length],
  [
    'of these, from the last month',
    0.5,
    1,
    ({ invoices }) => share(invoices.filter(unpaid), ({ closed_at }) => daysSince(closed_at) <= 31),
  ],
  ['estimates', 6, any, (b) => b.orders('estimate').length],
  ['days since an estimate', 3, 40, (b) => median(b.orders('estimate').map(age))],
  ['days since the oldest estimate', 0, 180, (b) => Math.max(...b.orders('estimate').map(age))],
  ['orders in work', 2, any, (b) => b.orders('in_progress').length],
  [
    'days since work began',
    0,
    5,
    (b) => median(b.orders('in_progress').map(({ started_at }) => daysSince(started_at))),
  ],
  [
    'cars that were late',
    0.1,
    0.2,
    ({ invoices }) => share(invoices, ({ closed_at, due_out_at }) => closed_at > due_out_at),
  ],
  ['orders with an appointment', 0.4, 1, (b) => b.daysAhead().length / b.all('repair_orders').length],
  ['days from booking to appointment', 1, 10, (b) => median(b.daysAhead())],
  ['appointments of half a day before', 0, 0.15, (b) => share(b.daysAhead(), (days) => days < 0.5)],
  [
    'recommendations for a red inspection',
    0.6,
    1,
    (b) => {
      const red = new Set(
        b
          .all('repair_orders')
          .filter(b.isRed)
          .map(({ id }) => id),
      )
      return share(b.all('recommendations'), ({ repair_order_id }) => red.has(repair_order_id))
    },
  ],
  ['red inspections with a recommendation', 0.75, 1, (b) => b.advised(true)],
  ['others with a recommendation', 0, 0.2, (b) => b.advised(false)],
  ['cards that are refused', 0.001, 0.1, (b) => b.refused().length / b.all('payment_transactions').length],
  ['of these, refused for good', 0.05, 0.5, (b) => share(b.refused(), (isAccepted) => !isAccepted)],
  ['refunds', 0.002, 0.05, (b) => share(b.all('payments'), isRefund)],
  ['deposits', 21, any, (b) => b.all('payments').filter(({ notes }) => notes === 'Deposit').length],
  [
    'states and zones of the shops',
    1,
    1,
    (b) => new Set(b.all('shops').map(({ state, time_zone }) => `${state} ${time_zone}`)).size,
  ],
  ['areas of the shops', 1, 1, (b) => new Set(b.all('shops').map(({ zip }) => zip.slice(0, 2))).size],
  ['vendors without a name', 0, 0, (b) => b.all('vendors').filter(({ name }) => !/\w/.test(name)).length],
  [
    'vehicles without year, make or model',
    0,
    0,
    (b) =>
      b
        .all('vehicles')
        .filter(({ year, make, model }) => year <= 1990 || !/^\S.* \S/.test(`${make} ${model}`)).length,
  ],
  ['half years with a labor rate', 2, any, (b) => b.rates().length],
  [
    'the smallest raise from one to the next',
    1,
    any,
    (b) =>
      Math.min(
        ...b
          .rates()
          .slice(1)
          .map((rate, i) => rate / (b.rates()[i] ?? 0)),
      ),
  ],
  [
    'the raise of them all, by half year',
    1.015,
    any,
    (b) => (b.rates().at(-1) ?? 0) / (b.rates()[0] ?? 0) - 0.015 * (b.rates().length - 2),
  ],
  ['orders a day in November, for one in February', 1.2, any, (b) => b.perDayOf(10) / b.perDayOf(1)],
  [
    'orders of Sundays',
    0,
    0.03,
    (b) => share(b.all('repair_orders'), ({ created_at }) => new Date(created_at ?? '').getUTCDay() === 0),
  ],
]

const businesses = [
  [2, 2200, 1],
  [1, 3400, 1],
  [3, 3600, 3],
] as const

describe.each(sample(businesses))(
  'a business of seed %i with %i orders in %i shops',
  (seed, count, shops) => {
    let business: Business
    beforeAll(async () => {
      business = await Business.of(seed, count, shops)
    })

    it.each(figures)('%s: %d to %d', (_what, least, most, of) => {
      const found = of(business)
      expect(found).toBeGreaterThanOrEqual(least)
      expect(found).toBeLessThanOrEqual(most)
    })

    it('has as many shops, each with a name, and open when shops are', () => {
      const hours = 'Mon–Fri 07:30–18:00, Sat 08:00–13:00'
      expect(new Set(business.all('shops').map(({ name }) => name)).size).toBe(shops)
      expect(new Set(business.all('shops').map(({ opening_hours }) => opening_hours))).toEqual(
        new Set([hours]),
      )
    })
  },
)

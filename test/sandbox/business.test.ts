/** The generated records could be a business: figures that people in the trade look at first, for several seeds. */
import { DateTime } from 'luxon'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Order } from '../../src/sandbox/data/order.js'
import { type ApiRecord, createSandbox } from '../../src/sandbox/index.js'
import { sample } from '../support/harness/size.js'
import { HandClock } from '../support/world/clocks.js'

// biome-ignore lint/suspicious/noExplicitAny: records of every resource are read here
type Row = ApiRecord & Record<string, any>

/** A Tuesday afternoon in America: the shops are at work. */
const until = '2026-03-03T20:00:00Z'
const day = 86_400_000

class Business {
  readonly orders: Order[]
  readonly invoices: Order[]
  private constructor(private readonly records: ReadonlyMap<string, Row[]>) {
    this.orders = this.all('repair_orders') as unknown as Order[]
    this.invoices = this.orders.filter(({ state }) => state === 'invoice')
  }

  static async of(seed: number, repairOrders: number, shops: number): Promise<Business> {
    const sandbox = await createSandbox({
      tenants: [{ id: 101, repairOrders, shops }],
      seed,
      clock: new HandClock(until),
    })
    const records = sandbox.store.resources.map(
      (resource) => [resource, sandbox.store.all(101, resource) as Row[]] as const,
    )
    await sandbox.close()
    return new Business(new Map(records))
  }

  all(resource: string): Row[] {
    return this.records.get(resource) ?? []
  }

  /** The local time at the shop. */
  local(order: Order, at: string): DateTime {
    const shop = this.all('shops').find(({ id }) => id === order.shop_id)
    return DateTime.fromISO(at, { zone: shop?.['time_zone'] })
  }
}

const partsOf = (orders: readonly Order[]) =>
  orders.flatMap((order) => order.services.flatMap(({ parts }) => parts))
const age = (at: string): number => (Date.parse(until) - Date.parse(at)) / day
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
const share = <T>(items: readonly T[], test: (item: T) => boolean): number =>
  items.filter(test).length / items.length
const costOf = (parts: readonly { cost_cents: number | null; quantity: number }[]): number =>
  parts.reduce((sum, { cost_cents, quantity }) => sum + (cost_cents ?? 0) * quantity, 0)

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

    it('gets 3.0 to 3.7 cars done per technician and working day', () => {
      const { invoices } = business
      const days = (field: 'started_at' | 'closed_at') =>
        new Set(
          invoices.map(
            (order) => `${order.technician_id} ${business.local(order, order[field]!).toISODate()}`,
          ),
        )
      for (const field of ['started_at', 'closed_at'] as const) {
        expect(invoices.length / days(field).size).toBeGreaterThan(3)
        expect(invoices.length / days(field).size).toBeLessThan(3.7)
      }
    })

    it('closes invoices during its opening hours', () => {
      for (const { opening_hours } of business.all('shops'))
        expect(opening_hours).toBe('Mon–Fri 07:30–18:00, Sat 08:00–13:00')
      const outside = business.invoices.filter((order) => {
        const { weekday, hour, minute } = business.local(order, order.closed_at!)
        const time = hour + minute / 60
        return weekday === 7 || (weekday === 6 ? time < 8 || time >= 13 : time < 7.5 || time >= 18)
      })
      expect(outside).toEqual([])
    })

    it('earns on parts what shops earn, at the optimizer’s prices, and buys what it sells', () => {
      const parts = partsOf(business.invoices)
      const sold = parts.reduce((sum, part) => sum + (part.quoted_price_cents ?? 0) * part.quantity, 0)
      expect(1 - costOf(parts) / sold).toBeGreaterThan(0.45)
      expect(1 - costOf(parts) / sold).toBeLessThan(0.55)
      const stock = new Map(business.all('inventories').map((item) => [item.id, item]))
      const optimized = parts.filter(({ part_inventory_id: id }) => stock.get(id)?.['gp_optimizer_active'])
      expect(optimized.length / parts.length).toBeGreaterThan(0.8)
      const off = share(
        optimized,
        (part) => part.quoted_price_cents !== stock.get(part.part_inventory_id)?.['gp_price_cents'],
      )
      expect(off).toBeGreaterThan(0.01)
      expect(off).toBeLessThan(0.1)
      const bought = business
        .all('purchase_records')
        .flatMap(({ is_return, line_items }) =>
          (line_items as { quantity: number; cost_cents: number }[]).map(
            ({ quantity, cost_cents }) => quantity * cost_cents * (is_return ? -1 : 1),
          ),
        )
        .reduce((sum, cents) => sum + cents, 0)
      const used = costOf(partsOf(business.orders.filter(({ state }) => state !== 'estimate')))
      expect(bought / used).toBeGreaterThan(0.95)
      expect(bought / used).toBeLessThan(1.05)
    })

    it('lives on returning customers', () => {
      const { orders } = business
      const from = (source: string) => share(orders, ({ customer_source }) => customer_source === source)
      expect(from('Repeat')).toBeGreaterThan(0.55)
      for (const source of new Set(orders.map(({ customer_source }) => customer_source)))
        if (source !== 'Repeat') expect(from(source)).toBeLessThan(0.15)
    })

    it('has open bills from last month, estimates from the last weeks, and current work', () => {
      const unpaid = business.invoices.filter(({ payments }) => payments.length === 0)
      expect(unpaid.length).toBeGreaterThan(2)
      expect(share(unpaid, ({ closed_at }) => age(closed_at!) <= 31)).toBeGreaterThanOrEqual(0.5)
      const open = business.orders.filter(({ state }) => state === 'estimate')
      expect(open.length).toBeGreaterThan(5)
      const ages = open.map(({ created_at }) => age(created_at))
      expect(median(ages)).toBeGreaterThan(3)
      expect(median(ages)).toBeLessThan(40)
      expect(Math.max(...ages)).toBeLessThan(180)
      const work = business.orders.filter(({ state }) => state === 'in_progress')
      expect(work.length).toBeGreaterThan(1)
      expect(median(work.map(({ started_at }) => age(started_at!)))).toBeLessThan(5)
    })

    it('is late with 5 to 10 percent of cars, and knows most cars days before they come', () => {
      const late = share(business.invoices, ({ closed_at, due_out_at }) => closed_at! > due_out_at)
      expect(late).toBeGreaterThan(0.1)
      expect(late).toBeLessThan(0.2)
      const booked = business.all('appointments').filter(({ repair_order_id: id }) => id !== null)
      expect(booked.length / business.orders.length).toBeGreaterThan(0.4)
      const ahead = booked.map(
        ({ start_at, created_at }) => (Date.parse(start_at) - Date.parse(created_at)) / day,
      )
      expect(median(ahead)).toBeGreaterThan(1)
      expect(median(ahead)).toBeLessThan(10)
      expect(share(ahead, (days) => days < 0.5)).toBeLessThan(0.15)
    })

    it('recommends what inspections rated red', () => {
      const isRed = new Map(
        business.orders.map(({ id, services }) => [
          id,
          services.some(({ inspections }) => inspections.some(({ state }) => state === 'red')),
        ]),
      )
      const advised = business.all('recommendations').map((advice) => Number(advice['repair_order_id']))
      expect(share(advised, (id) => isRed.get(id) === true)).toBeGreaterThan(0.6)
      const red = [...isRed].filter(([, found]) => found).map(([id]) => id)
      const without = [...isRed].filter(([, found]) => !found).map(([id]) => id)
      const known = new Set(advised)
      expect(share(red, (id) => known.has(id))).toBeGreaterThan(0.75)
      expect(share(without, (id) => known.has(id))).toBeLessThan(0.2)
    })

    it('has some cards declined for good, and refunds some money', () => {
      const attempts = business.all('payment_transactions')
      const accepted = new Set(
        attempts.filter(({ status }) => status === 'approved').map((one) => one['repair_order_id']),
      )
      const failed = attempts.filter(({ status }) => status !== 'approved')
      expect(failed.length / attempts.length).toBeLessThan(0.1)
      const never = share(failed, (attempt) => !accepted.has(attempt['repair_order_id']))
      expect(never).toBeGreaterThan(0.05)
      expect(never).toBeLessThan(0.5)
      const amounts = business.all('payments').map((payment) => Number(payment['amount_cents']))
      expect(share(amounts, (amount) => amount < 0)).toBeGreaterThan(0.002)
      expect(share(amounts, (amount) => amount < 0)).toBeLessThan(0.05)
      expect(business.all('payments').filter(({ notes }) => notes === 'Deposit').length).toBeGreaterThan(20)
    })

    it('has names and addresses, all shops in one area, and vehicles with year, make and model', () => {
      const places = business.all('shops')
      expect(new Set(places.map(({ name }) => name)).size).toBe(shops)
      expect(new Set(places.map(({ state, time_zone }) => `${state} ${time_zone}`)).size).toBe(1)
      expect(new Set(places.map(({ zip }) => zip.slice(0, 2))).size).toBe(1)
      for (const { name } of business.all('vendors')) expect(name).toMatch(/\w/)
      for (const { year, make, model } of business.all('vehicles')) {
        expect(year).toBeGreaterThan(1990)
        expect(`${make} ${model}`).toMatch(/^\S.* \S/)
      }
    })

    it('raises its labor rates every half year', () => {
      const times = business.orders.map(({ created_at }) => Date.parse(created_at))
      const first = Math.min(...times)
      const rates = new Map<number, Set<number>>()
      for (const { created_at, services } of business.orders) {
        const half = Math.floor((Date.parse(created_at) - first) / (182 * day))
        const found = rates.get(half) ?? new Set()
        for (const { labor_rate_cents } of services)
          if (labor_rate_cents !== null) found.add(labor_rate_cents)
        rates.set(half, found)
      }
      // Anything added to an order later has that day's rate, so the lowest is the order's original one.
      const lowest = [...rates].sort(([a], [b]) => a - b).map(([, found]) => Math.min(...found))
      expect(lowest.length).toBeGreaterThan(1)
      expect(lowest).toEqual([...lowest].sort((a, b) => a - b))
      expect(lowest.at(-1)! / lowest[0]!).toBeGreaterThan(1 + 0.015 * (lowest.length - 1))
    })
  },
)

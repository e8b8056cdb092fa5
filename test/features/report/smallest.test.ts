/** What the report says of a business made by hand, with one record for each way in which a number could be wrong. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { reopen, warehouses } from '../../support/harness/warehouse.js'
import { makeReport, numberOf, type Page } from './reportpage.js'

type Fields = Record<string, unknown>

const hourMs = 3_600_000
const now = Date.now()
const at = (hours: number): string => new Date(now + hours * hourMs).toISOString()
const daysAgo = (days: number): string => at(-24 * days)
/** Noon of a day, so many months from now. */
const inMonth = (months: number, day: number): string => {
  const today = new Date(now)
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + months, day, 12)).toISOString()
}
/** A zone in which an appointment of two hours ago and one in two hours are both today. */
const hour = new Date(now).getUTCHours()
const timeZone = hour >= 3 && hour < 21 ? 'UTC' : 'Asia/Tokyo'

/** An order of so many hours at 100 dollars, without fee and taxes. */
const order = (id: number, state: string, closed: string | null, more: Fields = {}, hours = 1): Fields => ({
  id,
  created_at: daysAgo(70),
  updated_at: daysAgo(1),
  number: id,
  state,
  shop_id: 1,
  customer_id: 1,
  started_at: closed && daysAgo(65),
  closed_at: closed,
  picked_up_at: closed,
  due_out_at: null,
  taxable: false,
  supply_fee_cents: 0,
  payments: [],
  vehicle_id: id,
  technician_id: 1,
  advisor_id: 1,
  services: [
    {
      id,
      title: 'Brakes',
      completed: true,
      labor_rate_cents: 10_000,
      labors: [{ id, name: 'Labor', technician_id: 1, hours, taxable: true }],
    },
  ],
  ...more,
})
const withPart = (id: number, cost_cents: number | null): Fields => ({
  id: 10 * id,
  title: 'A part',
  completed: true,
  labor_rate_cents: null,
  parts: [{ id, name: 'Pads', quantity: 1, quoted_price_cents: 5000, cost_cents, taxable: true }],
  labors: [{ id: 10 * id, name: 'Free', technician_id: 1, hours: 0.5, taxable: true }],
})

const payment = (id: number, repair_order_id: number, shop_id: number): Fields => ({
  id,
  created_at: daysAgo(20),
  updated_at: daysAgo(20),
  repair_order_id,
  shop_id,
  amount_cents: 700,
  payment_type: 'Cash',
  payment_type_details: { type: 'Cash', name: null },
})

const paid = (id: number, cents: number): Fields => ({
  payments: [{ ...payment(id, id, 1), amount_cents: cents }],
})

const orders: readonly Fields[] = [
  order(1, 'invoice', daysAgo(10)),
  order(2, 'invoice', daysAgo(40), {}, 2),
  // Nobody knows when it was closed, so its age is unknown.
  order(3, 'invoice', null, { started_at: daysAgo(50) }, 0.5),
  // Its profit is unknown, and half an hour of it has no rate.
  {
    ...order(4, 'invoice', daysAgo(41), paid(4, 35_000), 3),
    services: [...(order(4, 'invoice', null, {}, 3).services as Fields[]), withPart(4, null)],
  },
  order(5, 'estimate', null, { due_out_at: at(1) }),
  order(6, 'in_progress', null, { started_at: daysAgo(1), due_out_at: at(1) }),
  order(7, 'estimate', null, { shop_id: 2, ...paid(7, 700) }),
  order(8, 'estimate', null),
  order(9, 'invoice', daysAgo(12), { shop_id: 3, ...paid(9, 10_000) }),
  order(10, 'invoice', daysAgo(10), paid(10, 12_000)),
]

const appointment = (id: number, hours: number, repair_order_id: number | null): Fields => ({
  id,
  created_at: daysAgo(3),
  updated_at: daysAgo(3),
  title: `Visit ${id}`,
  shop_id: 1,
  staff_id: 1,
  start_at: at(hours),
  end_at: at(hours + 0.5),
  repair_order_id,
})
const appointments = [
  appointment(1, -2, null),
  appointment(2, -2, 8),
  appointment(3, -1, 6),
  appointment(4, 1, null),
  appointment(5, 2, 8),
]

const resources = ['repair_orders', 'payments', 'appointments', 'shops', 'staffs', 'customers']

const nameOf = (instant: string): string =>
  new Intl.DateTimeFormat('en-US', { month: 'short', timeZone: 'UTC' }).format(new Date(instant))

describe.each(warehouses())('$name', (kind) => {
  let sandbox: Sandbox
  const address = kind.address()
  let config = ''
  let page: Page

  beforeAll(async () => {
    sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
    const { store } = sandbox
    const stamps = { created_at: daysAgo(90), updated_at: daysAgo(90) }
    for (const id of [1, 2, 3])
      store.put(101, 'shops', { id, ...stamps, name: `Shop ${id}`, time_zone: timeZone })
    store.put(101, 'staffs', { id: 1, ...stamps, first_name: 'Bo', last_name: 'Ray' })
    store.put(101, 'customers', { id: 1, ...stamps, first_name: 'Ann', last_name: 'Lee' })
    for (const one of orders) store.put(101, 'repair_orders', one)
    for (const one of appointments) store.put(101, 'appointments', one)
    store.put(101, 'payments', payment(7, 7, 2))
    store.put(101, 'payments', { ...payment(8, 99, 1), shop_id: null })
    store.put(102, 'shops', { id: 1, ...stamps, name: 'Other', time_zone: timeZone })
    for (const [id, months] of [[1, -2] as const, [2, -1] as const])
      store.put(102, 'repair_orders', order(id, 'invoice', inMonth(months, 2), paid(id, 10_000)))
    config = configure(sandbox, address, resources, { report: { timeZone } })
    const ended = await shopsync(['sync', '--config', config])
    expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    page = (await makeReport(config)).page
  })
  afterAll(() => sandbox.close())

  const today = () => page.card('101-today')
  const sumOf = (id: string, head: string): number =>
    page.column(id, head).reduce((sum, cell) => sum + numberOf(cell), 0)

  it('counts as still due only what is ahead, and promises of estimates are none', () => {
    expect(today().answer).toMatch(/^2 of 5 appointments and 1 promised pick-up still due today\. /)
    expect(today().facts.get('Appointments')).toEqual(['5', '1 came', '2 still due'])
    expect(page.column('101-pick-ups', 'order')).toEqual(['6'])
  })

  it('has all that is owed to collect, and what of it is overdue, also where the age is not known', () => {
    expect(today().answer).toContain(' $350 to collect ($200 of it overdue)')
    expect(today().facts.get('Overdue')).toEqual([
      ...['$200', '1 invoice', 'of $350 to collect', 'credits of $20 on 1 invoice not included'],
    ])
    const owed = page.table('101-receivables').map(([age, cents]) => `${age}: ${cents}`)
    expect(owed.slice(1).filter((line) => !line.endsWith('$0'))).toEqual([
      ...['0 to 30 days: $100', '31 to 60 days: $200', 'not known: $50'],
    ])
    expect(page.caption('101-receivables')).toContain('Credits are not included: $20 on 1 overpaid invoice.')
  })

  it('shows beside a ratio what it is divided by, and what is unknown as unknown', () => {
    expect(sumOf('101-hour-profit', 'Hours with a known profit')).toBe(5)
    expect(sumOf('101-labor-rate', 'Hours with a labor rate')).toBe(8)
    expect(sumOf('101-cycle-time', 'With a promised time')).toBe(0)
    expect(page.table('101-hour-profit')[0]).not.toContain('Hours sold')
    const profits = page.ids('101-month-').flatMap((id) => page.card(id).facts.get('Gross profit') ?? [])
    expect(profits).toContain('leaves out 1 invoice')
    expect(page.caption('101-sales')).toContain('without a known cost or price.')
  })

  it('lists no shop before its first invoice, and none without a name that sold nothing', () => {
    const names = page.ids('101-shops-').flatMap((id) => page.column(id, 'shop'))
    expect([...new Set(names)].sort()).toEqual(['Shop 1', 'Shop 3'])
  })

  it('marks the months that are incomplete, also that in which the data of one business ends', async () => {
    const marked = (id: string) =>
      page
        .table(`${id}-average-order`)
        .flatMap(([month]) => (month?.includes('incomplete') ? month.slice(0, 3) : []))
    const [now, last] = [0, -1].map((months) => nameOf(inMonth(months, 2)))
    expect(marked('102')).toEqual([now])
    const warehouse = await reopen(address)
    const through = inMonth(-1, 15).replace('Z', '000Z')
    await warehouse.db
      .updateTable('sync_cursors')
      .set({ complete_through: through })
      .where('tenant_id', '=', 102)
      .execute()
    await warehouse.close()
    page = (await makeReport(config)).page
    expect(marked('102')).toEqual([last, now])
    expect(marked('all')).not.toContain(last)
  })

  it('doubts totals that payments do not equal', () => {
    const doubt = 'Not entirely: payments match the total on only 50.0% of 2 paid invoices.'
    expect(page.card('101-trust').answer).toContain(doubt)
    expect(page.card('102-trust').answer).not.toContain('payments match')
  })

  it('gives tables of many columns the whole width', () => {
    expect(/class="panel ranking table wide" id="101-advisors-/.test(page.html)).toBe(true)
  })
})

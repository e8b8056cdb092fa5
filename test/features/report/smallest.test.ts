/** What the report says of a business made by hand, with one record for each way in which a number could be wrong. */
import { beforeAll, describe, expect, it } from 'vitest'
import { reopen, warehouses } from '../../support/harness/warehouse.js'
import { type Fields, order as handmade, payment, stamps } from '../../support/world/handmade.js'
import { itIs, makeReport, numberOf, type Page, sending, synced } from './reportpage.js'

itIs('2026-11-18T18:00:00Z')
const today = (hour: number): string => `2026-11-18T${hour}:00:00Z`

/** An order of so many hours at 100 dollars. */
const order = (id: number, state: string, closed: string | null, more: Fields = {}, hours = 1): Fields =>
  handmade(id, closed && `${closed}T12:00:00Z`, { state, vehicle_id: id, ...more }, hours)
const paid = (id: number, cents: number): Fields => ({
  payments: [payment(id, id, '2026-10-29T12:00:00Z', cents)],
})

/** Three hours, and half of one without a rate; its part has no cost, so its profit is unknown. */
const unknown = order(4, 'invoice', '2026-10-08', paid(4, 35_000), 3)
;(unknown.services as Fields[]).push({
  id: 40,
  title: 'A part',
  completed: true,
  labor_rate_cents: null,
  parts: [{ id: 4, name: 'Pads', quantity: 1, quoted_price_cents: 5000, cost_cents: null, taxable: true }],
  labors: [{ id: 40, name: 'Free', technician_id: 1, hours: 0.5, taxable: true }],
})

const orders: readonly Fields[] = [
  order(1, 'invoice', '2026-11-08'),
  order(2, 'invoice', '2026-10-09', {}, 2),
  // Nobody knows when it was closed, so its age is unknown.
  order(3, 'invoice', null, { started_at: '2026-09-29T12:00:00Z' }, 0.5),
  unknown,
  order(5, 'estimate', null, { due_out_at: today(19) }),
  order(6, 'in_progress', null, { started_at: '2026-11-17T18:00:00Z', due_out_at: today(19) }),
  order(7, 'estimate', null, { shop_id: 2, ...paid(7, 700) }),
  order(8, 'estimate', null),
  order(9, 'invoice', '2026-11-06', { shop_id: 3, ...paid(9, 10_000) }),
  order(10, 'invoice', '2026-11-08', paid(10, 12_000)),
]

const appointment = (id: number, hour: number, repair_order_id: number | null): Fields => ({
  id,
  ...stamps('2026-11-15T12:00:00Z'),
  title: `Visit ${id}`,
  shop_id: 1,
  staff_id: 1,
  start_at: today(hour),
  end_at: today(hour).replace(':00', ':30'),
  repair_order_id,
})
/** One order of two hours, or one, on each of these days. */
const sold = (shop_id: number, hours: number, ...days: string[]): Fields[] =>
  days.map((day, i) => order(100 * shop_id + i, 'invoice', `2026-${day}`, { shop_id }, hours))
const begun = { ...stamps('2026-08-20T12:00:00Z'), time_zone: 'UTC' }

const sandbox = await sending({
  101: {
    shops: [1, 2, 3].map((id) => ({ id, ...begun, name: `Shop ${id}` })),
    staffs: [{ id: 1, ...begun, first_name: 'Bo', last_name: 'Ray' }],
    customers: [{ id: 1, ...begun, first_name: 'Ann', last_name: 'Lee' }],
    repair_orders: orders,
    appointments: [
      appointment(1, 16, null),
      appointment(2, 16, 8),
      appointment(3, 17, 6),
      appointment(4, 19, null),
      appointment(5, 20, 8),
    ],
    payments: [
      { ...payment(7, 7, '2026-10-29T12:00:00Z', 700), shop_id: 2 },
      { ...payment(8, 99, '2026-10-29T12:00:00Z', 700), shop_id: null },
    ],
  },
  102: {
    shops: [{ id: 1, ...begun, name: 'Other' }],
    repair_orders: [
      order(1, 'invoice', '2026-09-02', paid(1, 10_000)),
      order(2, 'invoice', '2026-10-02', paid(2, 10_000)),
    ],
  },
  103: {
    shops: [1, 2].map((id) => ({ id, ...begun, name: `Open ${id}` })),
    repair_orders: [
      // In four weeks it was open on every Tuesday, on half of the Fridays, and once on a Monday.
      ...sold(1, 1, '10-20', '10-27', '11-03', '11-06', '11-09', '11-10', '11-13', '11-17'),
      // On Wednesdays.
      ...sold(2, 2, '11-04', '11-11'),
    ],
  },
})

describe.each(warehouses())('$name', (kind) => {
  let made: Awaited<ReturnType<typeof synced>>
  let page: Page

  beforeAll(async () => {
    made = await synced(kind, sandbox)
    page = (await makeReport(made.config)).page
  })

  const sumOf = (id: string, head: string): number =>
    page.column(id, head).reduce((sum, cell) => sum + numberOf(cell), 0)

  it('counts as still due only what is ahead, and promises of estimates are none', () => {
    const { answer, facts } = page.card('101-today')
    expect(answer).toMatch(/^2 of 5 appointments and 1 promised pick-up still due today\. /)
    expect(facts.get('Appointments')).toEqual(['5', '1 came', '2 still due'])
    expect(page.column('101-pick-ups', 'order')).toEqual(['6'])
  })

  it('has all that is owed to collect, and what of it is overdue, also where the age is not known', () => {
    const { answer, facts } = page.card('101-today')
    expect(answer).toContain(' $350 to collect ($200 of it overdue)')
    const credits = 'credits of $20 on 1 invoice not included'
    expect(facts.get('Overdue')).toEqual(['$200', '1 invoice', 'of $350 to collect', credits])
    const owed = page.table('101-receivables').map(([age, cents]) => `${age}: ${cents}`)
    expect(owed.slice(1).filter((line) => !line.endsWith('$0'))).toEqual([
      '0 to 30 days: $100',
      '31 to 60 days: $200',
      'not known: $50',
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

  it('projects the month from the open days of each shop', () => {
    // Six days at $100 so far, and the 20th, 24th and 27th; two at $200, and the 18th and 25th.
    expect(page.card('103-yesterday').facts.get('Projected for the month')?.[0]).toBe('≈ $1,700')
  })

  it('doubts totals that payments do not equal', () => {
    const doubt = 'Not entirely: payments match the total on only 50.0% of 2 paid invoices.'
    expect(page.card('101-trust').answer).toContain(doubt)
    expect(page.card('102-trust').answer).not.toContain('payments match')
  })

  it('gives tables of many columns the whole width', () => {
    expect(/class="panel ranking table wide" id="101-advisors-/.test(page.html)).toBe(true)
  })

  it('marks the months that are incomplete, also that in which the data of one business ends', async () => {
    const marked = (id: string) =>
      page.column(`${id}-average-order`, 'month').filter((month) => month.includes('incomplete'))
    expect(marked('102')).toEqual(['Nov 2026 incomplete'])
    const warehouse = await reopen(made.address)
    await warehouse.db
      .updateTable('sync_cursors')
      .set({ complete_through: '2026-10-15T12:00:00.000000Z' })
      .where('tenant_id', '=', 102)
      .execute()
    await warehouse.close()
    page = (await makeReport(made.config)).page
    expect(marked('102')).toEqual(['Oct 2026 incomplete', 'Nov 2026 incomplete'])
    expect(marked('all')).not.toContain('Oct 2026 incomplete')
  })
})

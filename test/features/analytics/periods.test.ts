/**
 * Where the rows of shop_days and shop_months begin, what they say of past months, and what counts as collected, computed
 * by hand in both warehouses: payments that were deleted, charged twice, refunded, older than their order or without it; a
 * shop that opens tomorrow, and shops that have only deposits, or nothing.
 */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { ask } from '../../support/harness/views.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'
import { type Fields, order, payment, stamps, updated } from '../../support/world/handmade.js'

const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
const current = new Date().toISOString().slice(0, 7)

/** All months from one on, to the current one. */
function monthsFrom(first: string): string[] {
  const months: string[] = []
  for (let day = new Date(`${first}-01T00:00:00Z`); day.toISOString().slice(0, 7) <= current; )
    day = new Date(day.setUTCMonth(day.getUTCMonth() + (months.push(day.toISOString().slice(0, 7)) && 1)))
  return months
}

/** Created in August, in the given shop. */
const inShop = (shop: number, id: number, closed: string | null, more: Fields = {}): Fields =>
  order(id, closed, {
    ...{ shop_id: shop, created_at: '2026-08-10T12:00:00Z', started_at: closed && '2026-08-10T12:00:00Z' },
    ...more,
  })

/** An invoice of 10,000 cents in shop 7, closed on September 5, with its payments: [day, cents]. */
const paidInvoices: readonly {
  readonly why: string
  readonly paid: [string, number][]
  readonly days: number | null
}[] = [
  { why: 'paid at once', paid: [['2026-09-05', 10_000]], days: 0 },
  { why: 'paid before the order was there', paid: [['2026-07-01', 10_000]], days: 0 },
  {
    why: 'a deposit and the rest',
    paid: [
      ['2026-08-20', 4000],
      ['2026-09-08', 6000],
    ],
    days: 3,
  },
  {
    why: 'charged twice, refunded later',
    paid: [
      ['2026-09-06', 10_000],
      ['2026-09-06', 10_000],
      ['2026-10-20', -10_000],
    ],
    days: 1,
  },
  { why: 'too much, never returned', paid: [['2026-09-07', 15_000]], days: 2 },
  {
    why: 'refunded in full',
    paid: [
      ['2026-09-06', 10_000],
      ['2026-09-09', -10_000],
    ],
    days: null,
  },
  {
    why: 'refunded and paid again',
    paid: [
      ['2026-09-06', 10_000],
      ['2026-09-09', -10_000],
      ['2026-09-15', 10_000],
    ],
    days: 10,
  },
  { why: 'never covered', paid: [['2026-09-06', 9999]], days: null },
]
const firstPaid = 100

const orders: readonly Fields[] = [
  inShop(1, 1, '2026-09-10T12:00:00Z'),
  inShop(1, 2, '2026-09-12T12:00:00Z'),
  inShop(2, 3, '2026-09-01T12:00:00Z'),
  // The first invoice of shop 3 is closed tomorrow; shop 4 has only an estimate, and shop 5 nothing.
  inShop(3, 4, tomorrow),
  inShop(4, 5, null),
  // Opened again; with an unknown total; deleted after a first sync, all in shop 6.
  inShop(6, 6, null, { state: 'in_progress', picked_up_at: '2026-09-05T12:00:00Z' }),
  inShop(6, 7, '2026-10-05T12:00:00Z', { taxable: true, supply_fee_cents: null }),
  inShop(6, 8, '2026-09-05T12:00:00Z'),
  ...paidInvoices.map((_, i) => inShop(7, firstPaid + i, '2026-09-05T12:00:00Z')),
]

const payments: readonly Fields[] = [
  // Both deleted after a first sync: it was one charge, entered twice.
  payment(1, 1, '2026-09-15T12:00:00Z'),
  payment(2, 1, '2026-09-15T12:00:00Z'),
  payment(3, 4, '2026-08-20T12:00:00Z', 700),
  // Older than its order; a part of it went back.
  payment(4, 5, '2026-07-20T12:00:00Z', 500),
  payment(5, 5, '2026-09-20T12:00:00Z', -200),
  payment(6, 99, '2026-08-05T12:00:00Z', 30),
  payment(7, null, '2026-08-05T12:00:00Z', 4),
  // Of the deleted order: just before midnight in its shop's zone, the next day in UTC.
  payment(8, 8, '2026-09-06T04:30:00Z', 10_000),
  payment(9, 8, '2026-10-01T04:30:00Z', -1000),
  ...paidInvoices.flatMap(({ paid }, i) =>
    paid.map(([day, cents], j) => payment(1000 + 10 * i + j, firstPaid + i, `${day}T1${j}:00:00Z`, cents)),
  ),
]
const deleted = [1, 2]
const live = payments.filter(({ id }) => !deleted.includes(Number(id)))
const collected = live.reduce((sum, { amount_cents }) => sum + Number(amount_cents), 0)

const resources = ['repair_orders', 'payments', 'customers', 'staffs', 'shops']

describe.each(bothWarehouses())('$name', (kind) => {
  let sandbox: Sandbox
  let address: Address

  async function run(): Promise<void> {
    const report = { timeZone: 'UTC', shopTimeZones: { '101/6': 'America/Chicago' } }
    for (const job of [['sync'], ['reconcile', '--full']]) {
      const ended = await shopsync([...job, '--config', configure(sandbox, address, resources, { report })])
      expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    }
  }
  beforeAll(async () => {
    sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }] })
    const { store } = sandbox
    for (const id of [1, 2, 3, 4, 5, 6, 7])
      store.put(101, 'shops', { id, ...stamps(updated), name: `Shop ${id}` })
    for (const one of orders) store.put(101, 'repair_orders', one)
    for (const one of payments) store.put(101, 'payments', one)
    address = await kind.viewed()
    await run()
    for (const id of deleted) store.remove(101, 'payments', id)
    store.remove(101, 'repair_orders', 8)
    await run()
  })
  afterAll(() => sandbox.close())

  /** The values of these columns, numbers as numbers. */
  async function rows(view: string, columns: string, rest = ''): Promise<unknown[][]> {
    const warehouse = await reopen(address)
    const found = await ask(warehouse, view, `select ${columns.replaceAll(' ', ', ')} from {view} ${rest}`)
    await warehouse.close()
    const plain = (value: unknown): unknown =>
      typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
    return found.map((row) => Object.values(row).map(plain))
  }

  it('what was owed is what is known today, and a deleted payment changes only its own order', async () => {
    const owed = 'month receivables_cents receivables_left_out'
    const of = (shop: number): Promise<unknown[][]> =>
      rows('shop_months', owed, `where shop_id = ${shop} and month >= '2026-09' order by month`)
    const past = monthsFrom('2026-09').filter((month) => month !== current)
    // One order, whose two payments are gone; since when, the current month knows.
    expect(await of(1)).toEqual([...past.map((month) => [month, 20_000, 1]), [current, 20_000, 0]])
    expect(await of(2)).toEqual([...past, current].map((month) => [month, 10_000, 0]))
    expect(
      await rows('shop_months', 'sum(receivables_cents)', "where month = '2026-09' and shop_id <= 2"),
    ).toEqual([[30_000]])
    // Opened again: nobody knows what was owed, until now. With an unknown total: from the closing on.
    expect(await of(6)).toEqual([
      ['2026-09', 0, 1],
      ...past.slice(1).map((month) => [month, 0, 2]),
      [current, 0, 1],
    ])
  })

  it('a month that is over shows what is known today, whatever a snapshot says; the current month its snapshot', async () => {
    const warehouse = await reopen(address)
    const table = warehouse.dialect.views().sql.table('daily_snapshots')
    const moment = `${current}-01T12:00:00.000000Z`
    const put = (day: string) =>
      sql`insert into ${sql.raw(table)} (tenant_id, shop_id, day, to_collect_cents, deposits_held_cents, taken_at)
        values (101, 2, ${day}, 123, 45, ${moment})`.execute(warehouse.db)
    for (const day of ['2026-09-30', `${current}-01`]) await put(day)
    const shown = 'month receivables_cents receivables_is_reckoned deposits_held_cents'
    expect(
      await rows(
        'shop_months',
        shown,
        `where shop_id = 2 and month in ('2026-09', '${current}') order by month`,
      ),
    ).toEqual([
      ['2026-09', 10_000, true, 0],
      [current, 123, false, 45],
    ])
    await sql`delete from ${sql.raw(table)}`.execute(warehouse.db)
    await warehouse.close()
  })

  it('rows begin with the first value, and a shop is open from its first invoice on', async () => {
    const months = (shop: number, columns: string): Promise<unknown[][]> =>
      rows('shop_months', `month ${columns}`, `where shop_id = ${shop} order by month`)
    const isOpen = (month: string): boolean => month >= tomorrow.slice(0, 7)
    expect(await months(3, 'is_open first_day deposits_held_cents')).toEqual(
      monthsFrom('2026-08').map((month) => [
        month,
        isOpen(month),
        tomorrow.slice(0, 10),
        // A deposit until it is an invoice, and that is known now.
        isOpen(month) ? 0 : 700,
      ]),
    )
    expect(await months(4, 'is_open deposits_cents deposits_held_cents')).toEqual(
      monthsFrom('2026-07').map((month) => [
        month,
        false,
        month === '2026-07' ? 500 : month === '2026-09' ? -200 : 0,
        month < '2026-09' ? 500 : 300,
      ]),
    )
    expect(await months(5, 'is_open')).toEqual([])
    // Without a shop, there is a row only where something is.
    expect(await rows('shop_months', 'month collected_cents', 'where shop_id is null')).toEqual([
      ['2026-08', 34],
    ])
    const days = (where: string): Promise<unknown[][]> =>
      rows('shop_days', 'day is_open collected_cents', `where ${where} order by day`)
    expect(await days('shop_id = 3')).toEqual([
      ['2026-08-10', false, 0],
      ['2026-08-20', false, 700],
      [tomorrow.slice(0, 10), true, 0],
    ])
    expect((await days('shop_id = 4')).map(([day]) => day)).toEqual([
      '2026-07-20',
      '2026-08-10',
      '2026-09-20',
    ])
    expect(await days('shop_id is null')).toEqual([['2026-08-05', false, 34]])
  })

  it('what was collected is the sum of the payments that exist, on the days of their shops', async () => {
    const gone = 30 + 4 + 10_000 - 1000
    for (const [view, column, cents] of [
      ['payments_daily', 'amount_cents', collected],
      ['payments_daily', 'order_gone_cents', gone],
      ['payments_ledger', 'amount_cents', collected],
      ['shop_days', 'collected_cents', collected],
      ['shop_months', 'collected_cents', collected],
    ] as const)
      expect([view, column, ...(await rows(view, `sum(${column})`))]).toEqual([view, column, [cents]])
    expect(await rows('payments_ledger', 'count(*)')).toEqual([[live.length]])
    const ofDeleted = 'day amount_cents order_gone_cents deposit_cents refund_cents'
    expect(await rows('payments_daily', ofDeleted, 'where shop_id = 6 order by day')).toEqual([
      ['2026-09-05', 10_000, 10_000, 0, 0],
      ['2026-09-30', -1000, -1000, 0, -1000],
    ])
    // The two lists of payments compare only on orders that exist.
    expect(await rows('payments_check', 'sum(orders)', 'where shop_id = 6 or shop_id is null')).toEqual([
      [null],
    ])
  })

  it('an invoice is settled by the payment with which its total is covered for good', async () => {
    const found = await rows('payments_ledger', 'repair_order_id days_to_pay', 'where settled_on is not null')
    const days = new Map(found.map(([id, days]) => [Number(id), days]))
    expect(paidInvoices.map(({ why }, i) => [why, days.get(firstPaid + i) ?? null])).toEqual(
      paidInvoices.map(({ why, days }) => [why, days]),
    )
    expect(found).toHaveLength(days.size)
  })
})

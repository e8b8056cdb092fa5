/**
 * Compares every row and column of the business views, and every figure of every shop, month and day, with the one oracle
 * (test/support/oracle/business), in both warehouses and several worlds (worlds.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { figures } from '../../../schema/figures/index.js'
import { views } from '../../../schema/views/index.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { isWhole } from '../../support/harness/size.js'
import { ask, query } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import type { Row } from '../../support/oracle/business/amounts.js'
import type { Business, World } from '../../support/oracle/business/business.js'
import { expectedFigures } from '../../support/oracle/business/figures.js'
import {
  balancesAfter,
  firstDays,
  openDays,
  type Shape,
  shownIn,
  wantedOf,
} from '../../support/oracle/business/months.js'
import { businessesOf, checkedViews, expectedRows } from '../../support/oracle/business/rows.js'
import { type Gone, worldOf } from '../../support/oracle/business/sandboxworld.js'
import { handmade } from './handmadeworlds.js'
import { worlds } from './worlds.js'

/** What follows from the run and not from the records, or has a test of its own. */
const notCompared: Readonly<Record<string, readonly string[]>> = {
  deleted_orders: ['deleted_on', 'deleted_at', 'deleted_at_local'],
  dim_vehicles: ['year', 'make', 'model'],
}

const columnsOf = (view: string): string[] =>
  Object.keys(views.find(({ name }) => name === view)?.columns ?? {}).filter(
    (column) => !notCompared[view]?.includes(column),
  )

/** Numbers as a person compares them: fifteen digits, integers in full. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') return value ?? null
  return Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(15)))
}

const texts = (rows: readonly Row[], columns: readonly string[]): string[] =>
  rows.map((row) => JSON.stringify(columns.map((name) => [name, plain(row[name])]))).sort()

/** Rows of one side that the other lacks. */
const lacking = (rows: readonly string[], others: readonly string[]): string[] => {
  const there = new Set(others)
  return rows.filter((row) => !there.has(row)).slice(0, 3)
}

const shapes: Shape[] = figures
  .filter(({ day, splits }) => day !== undefined && splits === undefined)
  .map(({ name, denominator, leavesOut }) => ({
    name,
    isRatio: denominator !== undefined,
    hasLeft: leavesOut !== undefined,
  }))
const isDistinct = (name: string): boolean =>
  figures.some(
    (one) =>
      one.name === name &&
      [one.numerator, one.denominator].some((part) => part !== undefined && 'distinct' in part),
  )
const moments = figures.filter(({ snapshot }) => snapshot)
const balances = ['receivables_cents', 'deposits_held_cents', 'receivables_left_out'] as const

describe.each([...worlds, ...handmade])('$name', (world) => {
  const kinds = bothWarehouses().filter((kind) => world.isOnBoth || isWhole() || warehouses().includes(kind))
  const opened = new Map<string, { readonly address: Address; readonly warehouse: Warehouse }>()
  let sandbox: Sandbox
  let gone: readonly Gone[]
  let { report } = world
  let businesses: Business[]
  /** The rows of each view, as computed last. */
  const computed = new Map<string, string[]>()

  const worldNow = (): World => worldOf(sandbox, report, gone)
  const run = (address: Address, ...words: string[]): ReturnType<typeof shopsync> =>
    shopsync([...words, '--config', configure(sandbox, address, world.resources, { report })])
  const done = async (address: Address, ...words: string[]): Promise<void> => {
    const ended = await run(address, ...words)
    expect(ended.code, ended.stdout + ended.stderr).toBe(0)
  }
  beforeAll(async () => {
    sandbox = await world.make()
    const addresses = await Promise.all(kinds.map((kind) => kind.viewed()))
    for (const address of addresses) await done(address, 'sync')
    gone = world.deleteSome(sandbox)
    for (const [i, address] of addresses.entries()) {
      if (gone.length > 0) await done(address, 'reconcile', '--full', '--accept-deletes')
      opened.set(kinds[i]?.name ?? '', { address, warehouse: await reopen(address) })
    }
    businesses = businessesOf(worldNow())
  })
  afterAll(async () => {
    for (const { warehouse } of opened.values()) await warehouse.close()
    await sandbox.close()
  })

  /** Compares all rows and columns of a view. */
  async function compare(warehouse: Warehouse, view: string): Promise<void> {
    const columns = columnsOf(view)
    const isPart = view.startsWith('dim_')
    const found = async (): Promise<unknown> => {
      const [expected, rows] = [computed.get(view) ?? [], texts(await ask(warehouse, view), columns)]
      // Dimensions also have what something refers to.
      return [
        isPart ? [] : lacking(rows, expected),
        lacking(expected, rows),
        isPart || rows.length === expected.length,
      ]
    }
    const equal = [[], [], true]
    let differs = computed.has(view) ? await found() : undefined
    // A second, a minute, or midnight in a zone may pass between the two.
    for (const until = Date.now() + 2000; !isDeepStrictEqual(differs, equal) && Date.now() < until; ) {
      const rows = expectedRows(view, businesses)
      if (rows.length > 0) expect(columns.filter((column) => !(column in (rows[0] ?? {})))).toEqual([])
      computed.set(view, texts(rows, columns))
      differs = await found()
    }
    expect([view, differs]).toEqual([view, equal])
  }

  describe.each(kinds)('$name', (kind) => {
    let warehouse: Warehouse
    let address: Address
    beforeAll(() => {
      ;({ warehouse, address } = opened.get(kind.name) ?? { warehouse, address })
    })

    it.each(checkedViews)('%s', async (view) => {
      await compare(warehouse, view)
      if (world.isLarge && view !== 'deleted_orders')
        expect(expectedRows(view, businesses).length).toBeGreaterThan(view.startsWith('dim_') ? 1 : 5)
    })

    it.runIf(world.byHand)('what was computed by hand', async () => {
      for (const [view, columns, rest, rows] of world.byHand ?? []) {
        const list = columns.split(' ').map((column, i) => `${column} as c${i}`)
        const order = columns.includes('sum(') ? '' : 'order by 1, 2'
        const found = await ask(warehouse, view, `select ${list.join(', ')} from {view} ${rest} ${order}`)
        const value = (one: unknown): unknown =>
          typeof one === 'string' && /^-?\d+$/.test(one) ? Number(one) : one
        const flags = found.map((row) =>
          Object.values(row).map((one, i) =>
            typeof rows[0]?.[i] === 'boolean' ? one === true || one === 1 : value(one),
          ),
        )
        expect([view, rest, flags]).toEqual([view, rest, rows])
      }
    })

    it.each(['month', 'day'] as const)('figures of each shop and %s', async (of) => {
      const period = (day: string | null): string | null =>
        of === 'month' ? (day?.slice(0, 7) ?? null) : day
      const expected = expectedFigures(businesses, period)
      const rows = await ask(warehouse, `shop_${of}s`)
      const found = new Map(
        rows.map((row) => [`${row.tenant_id}-${row.shop_id ?? 'none'}-${row[of] ?? 'none'}`, row]),
      )
      // Appointments of future months are only in shop_days; the current month depends on the shop for a day.
      const thisMonth = new Date(Date.now() - 86_400_000).toISOString().slice(0, 7)
      const isToCome = (key: string): boolean =>
        of === 'month' && key.slice(-7) > thisMonth && !key.endsWith('none')
      // A figure that is 0 makes no row of its own.
      const isSomething = (key: string): boolean =>
        [...(expected.get(key)?.values() ?? [])].some(
          ({ numerator, denominator = 0n, left }) => numerator !== 0n || denominator !== 0n || left > 0,
        )
      const lost = [...expected.keys()].filter((key) => !found.has(key) && !isToCome(key))
      expect(lost.filter(isSomething)).toEqual([])
      const wrong = shapes
        .filter(({ name }) => of === 'month' || !isDistinct(name))
        .flatMap((shape) =>
          [...found].flatMap(([key, row]) => {
            const [shown, wanted] = [shownIn(row, shape), wantedOf(expected.get(key)?.get(shape.name), shape)]
            return JSON.stringify(shown) === JSON.stringify(wanted) ? [] : [[shape.name, key, shown, wanted]]
          }),
        )
      expect(wrong.slice(0, 5)).toEqual([])
      // A shop is open from its first invoice on.
      const first = firstDays(businesses)
      const isOpen = [...found].map(([key, row]) => {
        const day = first.get(`${row.tenant_id}-${row.shop_id ?? 'none'}`) ?? '9'
        const is = row.shop_id !== null && row[of] !== null && String(row[of]) >= (period(day) ?? '')
        return [key, row.is_open, is]
      })
      expect(isOpen.filter(([, shown, wanted]) => shown !== wanted)).toEqual([])
      // A month is whole when it is over, and had the shop from its first days on; every list has been read here.
      const isWhole = [...found].map(([key, row]) => {
        const business = businesses.find(({ tenant }) => tenant === Number(row.tenant_id))
        const today = business?.day(row.shop_id, business.now)?.slice(0, 7) ?? ''
        const day = first.get(`${row.tenant_id}-${row.shop_id ?? 'none'}`) ?? '9'
        return [key, row.is_whole, day <= `${row.month}-03` && String(row.month) < today]
      })
      if (world.isLarge && of === 'month')
        expect(isWhole.filter(([, shown, wanted]) => shown !== wanted)).toEqual([])
      if (world.isLarge) expect(found.size).toBeGreaterThan(of === 'month' ? 6 : 100)
    })

    it('the days on which shops were open, and every month of a shop once', async () => {
      const days = await ask(warehouse, 'shop_days', 'select * from {view} where day is not null')
      const open = days.filter((row) => row.is_open_day === true)
      expect(open.map((row) => `${row.tenant_id}-${row.shop_id ?? 'none'}-${row.day}`).sort()).toEqual(
        openDays(businesses).sort(),
      )
      if (world.isLarge) expect([open.length > 50, days.length - open.length > 20]).toEqual([true, true])
      const months = await ask(
        warehouse,
        'shop_months',
        'select shop_key, month from {view} where month is not null',
      )
      const number = (month: unknown): number =>
        Number(String(month).slice(0, 4)) * 12 + Number(String(month).slice(5))
      for (const shop of new Set(months.map(({ shop_key }) => shop_key)))
        if (shop !== null) {
          const own = months.filter(({ shop_key }) => shop_key === shop).map(({ month }) => number(month))
          expect(own.sort((a, b) => a - b)).toEqual(own.map((_, i) => (own[0] ?? 0) + i))
        }
    })

    const thisMonth = (): string => worldNow().now.slice(0, 7)
    const monthsUntilNow = (): Promise<Row[]> =>
      ask(warehouse, 'shop_months', `select * from {view} where month <= '${thisMonth()}'`)

    it('what follows from the payments for the end of each month, before there is a snapshot', async () => {
      const others = moments.map(({ name }) => name).filter((name) => !balances.some((one) => one === name))
      const seen = new Set<string>()
      const now = worldNow()
      for (const row of await monthsUntilNow()) {
        const { tenant_id, shop_id, month } = row
        const of = { tenant: Number(tenant_id), shop: shop_id, month: String(month) }
        const wanted = balancesAfter(now, businesses, of)
        const found = Object.fromEntries(balances.map((name) => [name, String(row[name])]))
        expect([of, row.receivables_is_reckoned, found]).toEqual([of, true, wanted])
        expect(others.filter((name) => row[name] !== null)).toEqual([])
        for (const name of balances) if (wanted[name] !== '0') seen.add(name)
      }
      if (world.isLarge) expect(seen).toEqual(new Set(balances))
    })

    it.runIf(world.isLarge && world.isOnBoth)(
      'figures at a moment are those of the last snapshot',
      async () => {
        const past = async (): Promise<string[]> =>
          texts(
            (await monthsUntilNow()).filter(({ month }) => String(month) < thisMonth()),
            balances,
          )
        const before = await past()
        expect((await run(address, 'snapshot', '--json')).json()).toMatchObject({ status: 'ok', shops: 4 })
        const sums = moments.map(({ name }) => `sum(${name}) as ${name}`).join(', ')
        const [kept] = await ask(
          warehouse,
          'shop_months',
          `select ${sums} from {view} where not receivables_is_reckoned`,
        )
        for (const { name, relation, where, numerator } of moments) {
          const sum =
            'sum' in numerator
              ? `sum(${numerator.sum})`
              : `count(case when ${Object.values(numerator).join('')} then 1 end)`
          const from = `from {view} ${where === undefined ? '' : `where ${where}`}`
          const [shown] = await ask(warehouse, relation.name, `select coalesce(${sum}, 0) as ${name} ${from}`)
          expect([name, Number(kept?.[name])]).toEqual([name, Number(shown?.[name])])
        }
        // A month that is over shows what is known today, whatever a snapshot of it said.
        const table = warehouse.dialect.views().sql.table('daily_snapshots')
        const values = "tenant_id, shop_id, '2026-10-31', 123, 45, taken_at"
        const columns = 'tenant_id, shop_id, day, to_collect_cents, deposits_held_cents, taken_at'
        await query(warehouse, `insert into ${table} (${columns}) select ${values} from ${table}`)
        expect(await past()).toEqual(before)
        if (kind.name === 'sqlite') expect((await run(address, 'report', '--out', '/dev/null')).code).toBe(0)
      },
    )

    it.runIf(world.isLarge)(
      'inventory turns divide the cost of sold items by the stock of the same items',
      async () => {
        const { numerator, denominator } = figures.find(({ name }) => name === 'inventory_turns') ?? {}
        if (!numerator || !denominator || !('sum' in numerator) || !('sum' in denominator))
          throw new Error('none')
        const asked = `select sum(${numerator.sum}) as sold_cost_cents, sum(${denominator.sum}) as on_hand_cents from {view}`
        const [found] = await ask(warehouse, 'inventory_value', asked)
        const known = expectedRows('inventory_value', businesses).filter(
          (row) => row.on_hand_cents !== null && row.shop_is_new === false,
        )
        for (const column of ['sold_cost_cents', 'on_hand_cents']) {
          const sum = known.reduce((all, row) => all + (row[column] as bigint), 0n)
          expect([column, String(found?.[column])]).toEqual([column, String(sum)])
        }
      },
    )
  })

  it.runIf(world.laterReport)(
    'a shop whose zone changes has all its days by the new one, in every view',
    async () => {
      report = world.laterReport ?? report
      businesses = businessesOf(worldNow())
      for (const { address, warehouse } of opened.values()) {
        await done(address, 'sync')
        for (const view of checkedViews) await compare(warehouse, view)
      }
    },
  )
})

it('every view of the business is compared', () => {
  // Days, months and days of shops have tests of their own, and the others are about shopsync's own work.
  const others = ['changes', 'changes_by_tenant', 'dim_days', 'freshness', 'shop_days', 'shop_months']
  expect([...checkedViews, ...others].sort()).toEqual(views.map(({ name }) => name).sort())
})

/**
 * Compares every row and column of the business views, and every figure of every shop, month and day, with the one oracle
 * (test/support/oracle/business), in both warehouses and both worlds (worlds.ts).
 */
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { figures } from '../../../schema/figures/index.js'
import { views } from '../../../schema/views/index.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { done } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { textOf } from '../../support/harness/tree.js'
import { answer, ask, linesOf, query } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import type { Row } from '../../support/oracle/business/amounts.js'
import type { Business } from '../../support/oracle/business/business.js'
import { businessesOf, checkedViews, expectedRows } from '../../support/oracle/business/rows.js'
import { type Gone, worldOf } from '../../support/oracle/business/sandboxworld.js'
import { tomorrow, worlds } from './worlds.js'

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

const byHand = textOf('test/features/analytics/byhand.txt').split(/^# /m)
const moments = figures.filter(({ snapshot }) => snapshot)
const balances = ['receivables_cents', 'deposits_held_cents', 'receivables_left_out']

describe.each(worlds)('$name', (world) => {
  interface Opened {
    readonly address: Address
    readonly warehouse: Warehouse
  }
  const opened = new Map<string, Opened>()
  let sandbox: Sandbox
  let gone: readonly Gone[]
  let { report } = world
  let businesses: Business[]
  /** The rows of each view, as computed last. */
  const computed = new Map<string, string[]>()

  const run = (address: Address, ...words: string[]): ReturnType<typeof done> =>
    done(configure(sandbox, address, world.resources, { report }), ...words)
  beforeAll(async () => {
    sandbox = await world.make()
    for (const kind of bothWarehouses()) {
      const address = await kind.viewed()
      await run(address, 'sync')
      opened.set(kind.name, { address, warehouse: await reopen(address) })
    }
    gone = world.deleteSome(sandbox)
    for (const { address } of opened.values()) await run(address, 'reconcile', '--full', '--accept-deletes')
    businesses = businessesOf(worldOf(sandbox, report, gone))
  })

  /** Compares all rows and columns of a view. */
  async function compare({ address, warehouse }: Opened, view: string): Promise<void> {
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
    for (let tries = 0; tries < 3 && !isDeepStrictEqual(differs, equal); tries++) {
      // With it, a month may have ended since the last run: it is whole once everything was read after its end.
      if (tries > 0) await run(address, 'sync')
      const rows = expectedRows(view, businesses)
      const forgotten = columns.filter((column) => !rows.some((row) => column in row))
      // Records made by hand have no field that nothing depends on.
      if (world.isLarge) expect([view, forgotten]).toEqual([view, []])
      computed.set(view, texts(rows, columns))
      differs = await found()
    }
    expect([view, differs]).toEqual([view, equal])
  }

  describe.each(bothWarehouses())('$name', ({ name }) => {
    let warehouse: Warehouse
    let address: Address
    beforeAll(() => {
      ;({ warehouse, address } = opened.get(name)!)
    })

    it.each(checkedViews)('%s', async (view) => {
      await compare({ address, warehouse }, view)
      if (world.isLarge && view !== 'deleted_orders')
        expect(computed.get(view)?.length).toBeGreaterThan(view.startsWith('dim_') ? 1 : 5)
    })

    it('what was computed by hand', async () => {
      const text = byHand
        .find((part) => part.startsWith(world.name))
        ?.replace('TOMORROW', tomorrow.slice(0, 10))
      for (const [asked, sql = ''] of text!.matchAll(/^(select [\s\S]*?)\n((?: {2}.*\n)+)/gm)) {
        const lines = linesOf(await answer(warehouse, sql)).map((line) => `  ${line}`.trimEnd())
        expect(`${[sql, ...lines].join('\n')}\n`).toBe(asked)
      }
    })

    it.runIf(world.isLarge)('figures at a moment are those of the last snapshot', async () => {
      const past = async (): Promise<string[]> =>
        texts(
          await ask(warehouse, 'shop_months', `select * from {view} where month < '${thisMonth}'`),
          balances,
        )
      // In the first hours of a month, the one before isn't over in every zone.
      const thisMonth = new Date(Date.now() - 12 * 3_600_000).toISOString().slice(0, 7)
      const before = await past()
      expect((await run(address, 'snapshot', '--json')).json()).toMatchObject({ status: 'ok' })
      const sums = moments.map((figure) => `sum(${figure.name}) as ${figure.name}`).join(', ')
      const last = `select ${sums} from {view} where not receivables_is_reckoned`
      const [kept] = await ask(warehouse, 'shop_months', last)
      for (const { name, relation, where = 'true', numerator } of moments) {
        const sum =
          'sum' in numerator
            ? `sum(${numerator.sum})`
            : `count(case when ${Object.values(numerator).join('')} then 1 end)`
        const asked = `select coalesce(${sum}, 0) as ${name} from {view} where ${where}`
        const [shown] = await ask(warehouse, relation.name, asked)
        expect([name, Number(kept?.[name])]).toEqual([name, Number(shown?.[name])])
      }
      // A month that is over shows what is known today, whatever a snapshot of it said.
      const table = warehouse.dialect.views().sql.table('daily_snapshots')
      const values = "tenant_id, shop_id, '2026-10-31', 123, 45, taken_at"
      const columns = 'tenant_id, shop_id, day, to_collect_cents, deposits_held_cents, taken_at'
      await query(warehouse, `insert into ${table} (${columns}) select ${values} from ${table}`)
      expect(await past()).toEqual(before)
      // Absurd values and all.
      if (name === 'sqlite') await run(address, 'report', '--out', '/dev/null')
    })

    it.runIf(world.isLarge)(
      'turns divide the cost of sold items by the stock of the same items',
      async () => {
        const { numerator, denominator } = figures.find((figure) => figure.name === 'inventory_turns')!
        const asked = [numerator, denominator].map((part) => `sum(${Object.values(part ?? {})[0]})`)
        const [found = {}] = await query(
          warehouse,
          `select ${asked[0]} as sold, ${asked[1]} as stock from {inventory_value}`,
        )
        const known = expectedRows('inventory_value', businesses).filter(
          (row) => row.on_hand_cents !== null && row.shop_is_new === false,
        )
        const sumOf = (column: string): string =>
          String(known.reduce((all, row) => all + (row[column] as bigint), 0n))
        expect(Object.values(found).map(String)).toEqual([sumOf('sold_cost_cents'), sumOf('on_hand_cents')])
      },
    )
  })

  it.runIf(world.laterReport)('a shop whose zone changes has all its days by the new one', async () => {
    report = world.laterReport ?? report
    businesses = businessesOf(worldOf(sandbox, report, gone))
    for (const { address, warehouse } of opened.values()) {
      await run(address, 'sync')
      for (const view of checkedViews) await compare({ address, warehouse }, view)
    }
  })
})

it('every view of the business is compared', () => {
  // The others are about shopsync's own work, and days of the calendar have a test of their own.
  const others = ['changes', 'changes_by_tenant', 'dim_days', 'freshness']
  expect([...checkedViews, ...others].sort()).toEqual(views.map(({ name }) => name).sort())
})

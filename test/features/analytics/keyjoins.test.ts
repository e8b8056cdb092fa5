/**
 * Joins of views by their keys in Postgres: no plan compares each row of one side with each row of the other. A sync
 * leaves statistics of the columns by which rows are found, of states, and of the text keys that views make; the server's
 * autovacuum makes those of the others within minutes. The test counts the rows that each node of the plan touches, not time.
 */
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { someOf } from '../../support/harness/size.js'
import { prepareViews } from '../../support/harness/views.js'
import { bothWarehouses, migrate, reopen, type Warehouse } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({
  tenants: 2,
  repairOrders: 800,
  seed: 5,
  until: '2026-03-25T12:00:00Z',
})

interface Node {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly Node[]
}

/** The most rows that one node reads, compares or returns. */
const touched = (node: Node): number =>
  Math.max(
    node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Join Filter'] ?? 0)),
    ...(node.Plans ?? []).map(touched),
  )

/** Views, the joins of the others to the first, and a condition as people write it. */
const joins = [
  [
    'service_totals a',
    'orders b on b.repair_order_key = a.repair_order_key',
    'dim_customers c on c.customer_key = b.customer_key',
    "a.title like '%a%'",
  ],
  [
    'orders a',
    'dim_vehicles b on b.vehicle_key = a.vehicle_key',
    'dim_customers c on c.customer_key = a.customer_key',
    "a.state = 'invoice'",
  ],
  ['order_lines a', 'service_totals b on b.service_key = a.service_key', "b.title like '%a%'"],
  ['dim_customers a', 'orders b on b.customer_key = a.customer_key', "a.full_name like 'A%'"],
  ['inspections a', 'service_totals b on b.service_key = a.service_key', "b.title like '%a%'"],
  [
    'orders a',
    'dim_days b on b.day = a.closed_on',
    'dim_shops c on c.shop_key = a.shop_key',
    "b.month >= '2026-01-01'",
  ],
  [
    'dim_vehicles a',
    'earlier_recommendations b on b.vehicle_key = a.vehicle_key',
    'orders c on c.repair_order_key = b.repair_order_key',
    'b.is_to_sell',
  ],
  ['purchases a', 'inventory_value b on b.inventory_key = a.inventory_key', 'b.below_min'],
  ['payments_ledger a', 'orders b on b.repair_order_key = a.repair_order_key', "b.state = 'invoice'"],
  [
    'recommendation_conversion a',
    'orders b on b.repair_order_key = a.repair_order_key',
    'customer_value c on c.customer_key = b.customer_key',
    "a.decision = 'declined'",
  ],
  [
    'order_lines a',
    'work_in_progress b on b.repair_order_key = a.repair_order_key',
    "b.state = 'in_progress'",
  ],
  ['order_lines a', 'work_in_progress b on b.repair_order_key = a.repair_order_key', "a.state = 'estimate'"],
] as const

/** People look at the first rows: the planner reads no more than it expects to need for them. */
const firstRows = [
  ['order_lines a', 'service_totals b on b.service_key = a.service_key', 'true'],
  ['inspections a', 'service_totals b on b.service_key = a.service_key', 'true'],
  ['order_lines a', 'inventory_value b on b.inventory_key = a.inventory_key', 'true'],
  [
    'order_lines a',
    'orders b on b.repair_order_key = a.repair_order_key',
    'dim_customers c on c.customer_key = b.customer_key',
    'true',
  ],
  [
    'orders a',
    'dim_customers b on b.customer_key = a.customer_key',
    'dim_vehicles c on c.vehicle_key = a.vehicle_key',
    'true',
  ],
] as const

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind) => {
  const address = kind.address()
  let warehouse: Warehouse
  const ask = (sql: string, ...settings: string[]): Promise<Record<string, unknown>[]> =>
    warehouse.db.transaction().execute(async (db) => {
      const path = `set local search_path to "${address.schema}_analytics"`
      for (const setting of [path, 'set local jit = off', ...settings])
        await db.executeQuery(CompiledQuery.raw(setting))
      return (await db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(sql))).rows
    })
  const sqlOf = ([first, ...rest]: readonly string[]): string =>
    `select count(*) from ${first} ${rest
      .slice(0, -1)
      .map((join) => `join ${join}`)
      .join(' ')} where ${rest.at(-1)}`
  const rowsOf = async (sql: string, ...settings: string[]): Promise<number> => {
    const [row] = await ask(`explain (analyze, timing off, format json) ${sql}`, ...settings)
    const [plan] = (row?.['QUERY PLAN'] ?? []) as { Plan: Node }[]
    if (!plan) throw new Error('no plan')
    return touched(plan.Plan)
  }
  /** Views that turn instants into days read some of the calendar. */
  const calendar = 50_000
  const sizeOf = async (join: readonly string[]): Promise<number> => {
    const sizes = await Promise.all(
      join.slice(0, -1).map((each) => ask(`select count(*) as n from ${each.split(' ')[0]}`)),
    )
    return sizes.reduce((sum, [row]) => sum + Number(row?.n), 0)
  }

  beforeAll(async () => {
    warehouse = await reopen(address)
    await migrate(warehouse)
    await prepareViews(warehouse)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })
  afterAll(() => warehouse.close())

  const isPlanned = async (sql: string, join: readonly string[]): Promise<void> =>
    expect(await rowsOf(sql)).toBeLessThan(12 * (await sizeOf(join)) + calendar)

  it.each(joins.map((join) => [sqlOf(join), join] as const))('%s', isPlanned)

  const firstOf = (join: readonly string[]): string => `${sqlOf(join).replace('count(*)', '*')} limit 50`
  it.each(firstRows.map((join) => [firstOf(join), join] as const))('%s', isPlanned)

  it('counts what a plan without hashes and merges compares', async () => {
    const [join] = joins
    const loops = ['set local enable_hashjoin = off', 'set local enable_mergejoin = off']
    expect(await rowsOf(sqlOf(join), ...loops)).toBeGreaterThan(20 * (await sizeOf(join)))
  })

  describe('once all columns have statistics', () => {
    beforeAll(async () => void (await warehouse.db.executeQuery(CompiledQuery.raw('analyze'))))

    it.each(someOf(3, joins).map((join) => [sqlOf(join), join] as const))('%s', isPlanned)
    it.each(someOf(3, firstRows).map((join) => [firstOf(join), join] as const))('%s', isPlanned)
  })
})

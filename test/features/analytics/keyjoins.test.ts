/**
 * Joins of views by their keys in Postgres: no plan compares each row of one side with each row of the other. A sync
 * leaves statistics of the columns by which rows are found, of states, and of the text keys that views make; the server's
 * autovacuum makes those of the others within minutes. The test counts the rows that each node of the plan touches, not time.
 */
import { CompiledQuery } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
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
  `service_totals a join orders b on b.repair_order_key = a.repair_order_key
    join dim_customers c on c.customer_key = b.customer_key where a.title like '%a%'`,
  `orders a join dim_vehicles b on b.vehicle_key = a.vehicle_key
    join dim_customers c on c.customer_key = a.customer_key where a.state = 'invoice'`,
  `order_lines a join service_totals b on b.service_key = a.service_key where b.title like '%a%'`,
  `dim_customers a join orders b on b.customer_key = a.customer_key where a.full_name like 'A%'`,
  `inspections a join service_totals b on b.service_key = a.service_key where b.title like '%a%'`,
  `orders a join dim_days b on b.day = a.closed_on
    join dim_shops c on c.shop_key = a.shop_key where b.month >= '2026-01-01'`,
  `dim_vehicles a join earlier_recommendations b on b.vehicle_key = a.vehicle_key
    join orders c on c.repair_order_key = b.repair_order_key where b.is_to_sell`,
  `purchases a join inventory_value b on b.inventory_key = a.inventory_key where b.below_min`,
  `payments_ledger a join orders b on b.repair_order_key = a.repair_order_key where b.state = 'invoice'`,
  `recommendation_conversion a join orders b on b.repair_order_key = a.repair_order_key
    join customer_value c on c.customer_key = b.customer_key where a.decision = 'declined'`,
  `order_lines a join work_in_progress b on b.repair_order_key = a.repair_order_key where b.state = 'in_progress'`,
  `order_lines a join work_in_progress b on b.repair_order_key = a.repair_order_key where a.state = 'estimate'`,
]

/** People look at the first rows: the planner reads no more than it expects to need for them. */
const firstRows = [
  `order_lines a join service_totals b on b.service_key = a.service_key`,
  `inspections a join service_totals b on b.service_key = a.service_key`,
  `order_lines a join inventory_value b on b.inventory_key = a.inventory_key`,
  `order_lines a join orders b on b.repair_order_key = a.repair_order_key
    join dim_customers c on c.customer_key = b.customer_key`,
  `orders a join dim_customers b on b.customer_key = a.customer_key
    join dim_vehicles c on c.vehicle_key = a.vehicle_key`,
]

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
  const rowsOf = async (sql: string, ...settings: string[]): Promise<number> => {
    const [row] = await ask(`explain (analyze, timing off, format json) ${sql}`, ...settings)
    const [plan] = (row?.['QUERY PLAN'] ?? []) as { Plan: Node }[]
    if (!plan) throw new Error('no plan')
    return touched(plan.Plan)
  }
  /** Views that turn instants into days read some of the calendar. */
  const calendar = 50_000
  const sizeOf = async (join: string): Promise<number> => {
    const names = [...join.matchAll(/(\w+) [abc]\b(?! *[.=])/g)].map(([, name]) => name)
    const sizes = await Promise.all(names.map((name) => ask(`select count(*) as n from ${name}`)))
    return sizes.reduce((sum, [row]) => sum + Number(row?.n), 0)
  }

  beforeAll(async () => {
    warehouse = await reopen(address)
    await migrate(warehouse)
    await prepareViews(warehouse)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })

  const expectPlanned = async (join: string, isWhole: boolean): Promise<void> => {
    const asked = isWhole ? `select count(*) from ${join}` : `select * from ${join} limit 50`
    expect(await rowsOf(asked)).toBeLessThan(12 * (await sizeOf(join)) + calendar)
  }
  const whole = (join: string): Promise<void> => expectPlanned(join, true)
  const first = (join: string): Promise<void> => expectPlanned(join, false)

  it.each(joins)('%s', whole)
  it.each(firstRows)('the first rows of %s', first)

  it('counts what a plan without hashes and merges compares', async () => {
    const [join = ''] = joins
    const loops = ['set local enable_hashjoin = off', 'set local enable_mergejoin = off']
    expect(await rowsOf(`select count(*) from ${join}`, ...loops)).toBeGreaterThan(20 * (await sizeOf(join)))
  })

  describe('once all columns have statistics', () => {
    beforeAll(async () => void (await warehouse.db.executeQuery(CompiledQuery.raw('analyze'))))

    it.each(someOf(3, joins))('%s', whole)
    it.each(someOf(3, firstRows))('the first rows of %s', first)
  })
})

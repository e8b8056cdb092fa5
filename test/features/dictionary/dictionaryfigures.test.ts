/**
 * The dictionary's SQL of figures: it runs as it is on both kinds of warehouse, with the same results, which match
 * shop_months. What people type instead also runs, and returns something else.
 */
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { unitFactor } from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import { dayColumnsOf, supersetMetrics } from '../../../src/features/dictionary/supersetmetrics.js'
import type { Address } from '../../support/harness/place.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { prepareViews } from '../../support/harness/views.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { showTwice } from '../../support/world/twice.js'

const dictionary = describeModel(
  known.list.map(({ resource }) => resource),
  known.state,
)
const told = dictionary.figures
const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 150, seed: 5, until: '2026-03-25T12:00:00Z' })
showTwice(sandbox)
// Some that nobody has decided on yet.
for (const tenant of sandbox.store.tenantIds)
  for (const id of sandbox.store.ids(tenant, 'recommendations').filter((_, i) => i % 4 === 0))
    sandbox.store.put(tenant, 'recommendations', {
      ...sandbox.store.stored(tenant, 'recommendations', id),
      approved: null,
    })

type Row = Record<string, unknown>

/** In a form that can be compared between the databases: nine digits of a number, null. */
const plain = (value: unknown): unknown =>
  value === null || !Number.isFinite(Number(value)) ? value : Number(Number(value).toPrecision(9))

const answers = new Map<string, unknown>()
const metricsOf = new Map<string, unknown>()

describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  let warehouse: Warehouse
  const ask = (sql: string): Promise<Row[]> =>
    warehouse.db.connection().execute(async (db) => {
      if (kind.name === 'postgres')
        await db.executeQuery(
          CompiledQuery.raw(`set search_path to "${address.schema}", "${address.schema}_analytics"`),
        )
      return (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows
    })

  beforeAll(async () => {
    address = await kind.viewed()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })
  afterAll(() => warehouse.close())

  it('every example runs, and most have something to show', async () => {
    const found: Record<string, unknown> = {}
    for (const { name, example } of told)
      found[name] = (await ask(example.sql)).map((row) => Object.values(row).map(plain))
    answers.set(kind.name, found)
    const empty = Object.keys(found).filter((name) => (found[name] as unknown[]).length === 0)
    expect(empty.length, empty.join(', ')).toBeLessThan(5)
  })

  const cut = told.filter(
    ({ day, splits, kind: how, denominator }) =>
      day !== null && splits === null && how !== 'distinct' && !denominator?.includes('distinct'),
  )
  it.each(cut.map((figure) => [figure.name, figure] as const))(
    '%s matches shop_months',
    async (name, figure) => {
      const declared = figures.find((each) => each.name === name)
      const rows = await ask(figure.example.sql)
      const value =
        figure.denominator === null
          ? `sum(${name})`
          : `sum(${name}_numerator) * 1.0 / nullif(sum(${name}_denominator), 0) * ${unitFactor[declared!.unit] ?? 1}`
      const left = figure.left_out === null ? '0' : `sum(${name}_left_out)`
      const months = await ask(
        `select shop_key, ${value} as value, ${left} as left_out from shop_months where month between '2026-01' and '2026-03' group by shop_key`,
      )
      expect(rows.length).toBeGreaterThan(0)
      const byShop = new Map(months.map((row) => [row.shop_key, row]))
      for (const row of rows) {
        const expected = byShop.get(row.shop_key)
        // If nothing is known, a month shows null, like a sum; a count is 0 there.
        expect([row.shop_key, plain(row[name]) ?? 0]).toEqual([row.shop_key, plain(expected?.value) ?? 0])
        expect(Number(row.left_out ?? 0)).toBe(Number(expected?.left_out))
      }
    },
  )

  it("Superset's metrics run, mean the same wherever they have one name, and match shop_months for a month", async () => {
    const counts: Record<string, unknown> = {}
    const byName = new Map<string, Record<string, unknown>>()
    const datasets = dictionary.tables
      .filter(({ part }) => part === 'view' || part === 'derived')
      .flatMap((table) => dayColumnsOf(table.name).map((day) => [table, day] as const))
    for (const [table, day] of datasets) {
      const metrics = supersetMetrics(table, day)
      for (const { expression } of metrics) expect(expression).not.toMatch(/\(([^()]+)\) AND \(\1\)/)
      const [row = {}] = await ask(
        `select ${metrics.map(({ expression }, i) => `${expression} as m${i}`).join(', ')} from ${table.name}`,
      )
      metrics.forEach(({ metric_name }, i) => {
        const value = plain(row[`m${i}`])
        counts[`${table.name}.${metric_name}`] = value
        if (metric_name !== 'count')
          byName.set(metric_name, { ...byName.get(metric_name), [table.name]: value ?? 0 })
      })
    }
    const shared = [...byName].filter(([, values]) => Object.keys(values).length > 1)
    expect(shared.length).toBeGreaterThan(30)
    expect(shared.filter(([, values]) => new Set(Object.values(values)).size > 1)).toEqual([])
    expect(shared.filter(([, values]) => Number(Object.values(values)[0]) !== 0).length).toBeGreaterThan(25)
    metricsOf.set(kind.name, counts)
    const of = (view: string, name: string): string =>
      supersetMetrics(dictionary.tables.find((table) => table.name === view)!).find(
        ({ metric_name }) => metric_name === name,
      )!.expression
    const inMonth = 'join dim_days d on d.day = o.closed_on where d.month = '
    for (const [name, scale] of [
      ['gross_margin', 100],
      ['average_repair_order', 100],
      ['sales', 100],
    ] as const) {
      const [asked = {}] = await ask(
        `select ${of('orders', name)} as v from orders o ${inMonth} '2026-02-01'`,
      )
      const [kept = {}] = await ask(
        `select ${of('shop_months', name)} as v from shop_months where month = '2026-02'`,
      )
      expect(Number(kept.v) * scale).toBeGreaterThan(1)
      expect(plain(asked.v)).toBe(plain(kept.v))
    }
    const [{ v: margin } = {}] = await ask(
      "select 100.0 * sum(gross_margin_numerator) / sum(gross_margin_denominator) as v from shop_months where month = '2026-02'",
    )
    const [{ v: asked } = {}] = await ask(
      `select ${of('orders', 'gross_margin')} as v from orders o ${inMonth} '2026-02-01'`,
    )
    expect(plain(100 * Number(asked))).toBe(plain(margin))
  })

  it('what people type instead runs, and returns something other than the figure', async () => {
    const same: string[] = []
    for (const { name, instead, relation, where, value } of told) {
      const [right = {}] = await ask(
        `select ${value} as v from ${relation}${where === null ? '' : ` where ${where}`}`,
      )
      for (const { sql } of instead) {
        const wrong = await ask(sql)
        if (wrong.length === 1 && plain(Object.values(wrong[0] ?? {})[0]) === plain(right.v))
          same.push(`${name}: ${sql}`)
      }
    }
    expect(same).toEqual([])
  })
})

it.runIf(bothWarehouses().length === 2)('both answer the same', () => {
  expect(answers.get('sqlite')).toEqual(answers.get('postgres'))
  expect(metricsOf.get('sqlite')).toEqual(metricsOf.get('postgres'))
})

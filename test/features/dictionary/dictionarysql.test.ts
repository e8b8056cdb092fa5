/**
 * The dictionary's SQL runs as it is on both kinds of warehouse, with the same results: examples, figures (which match
 * shop_months), metrics of Superset, and what the sources of dbt claim. What people type instead returns something else.
 * Two tenants whose ids collide, and orders that show the same service, reveal whether a query keeps them apart.
 */
import { CompiledQuery } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { unitFactor } from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import { done } from '../../support/harness/call.js'
import { type Dataset, dbtSources, dictionary, supersetOf } from '../../support/harness/dictionary.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { showTwice } from '../../support/world/twice.js'

interface Claim {
  readonly unique?: { readonly arguments: { readonly column_name: string } }
  readonly relationships?: {
    readonly arguments: { readonly column_name: string; readonly to: string; readonly field: string }
    readonly config: object
  }
}
interface Source {
  readonly name: string
  readonly schema: string
  readonly config?: object
  readonly tables: readonly {
    readonly name: string
    readonly config?: { readonly loaded_at_query?: string; readonly freshness?: object }
    readonly data_tests?: readonly Claim[]
    readonly columns: readonly { readonly name: string; readonly data_tests?: readonly string[] }[]
  }[]
}

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 150, seed: 5, until: '2026-03-25T12:00:00Z' })
showTwice(sandbox)
// Some that nobody has decided on yet.
for (const tenant of sandbox.store.tenantIds)
  for (const id of sandbox.store.ids(tenant, 'recommendations').filter((_, i) => i % 4 === 0))
    sandbox.store.put(tenant, 'recommendations', {
      ...sandbox.store.stored(tenant, 'recommendations', id),
      approved: null,
    })

const { tables: described, figures: told } = await dictionary()
const dataTables = described.filter(({ part }) => part !== 'state' && part !== 'view')

type Row = Record<string, unknown>

/** In a form that can be compared between the databases: nine digits of a number, flags as numbers, null. */
const plain = (value: unknown): unknown => {
  if (value === null) return null
  const number = Number(value)
  return Number.isFinite(number) ? Number(number.toPrecision(9)) : String(value)
}

/** What each database answers, by what is asked. */
const answers = new Map<string, Record<string, unknown>>()

describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  let config = ''
  let warehouse: Warehouse
  let sources: readonly Source[]
  let datasets: readonly Dataset[]
  const found: Record<string, unknown> = {}
  /** As a BI tool would query: the text as it is, with the schema in the search path if there are schemas. */
  const ask = (sql: string): Promise<Row[]> =>
    warehouse.db.connection().execute(async (db) => {
      if (kind.name === 'postgres')
        await db.executeQuery(
          CompiledQuery.raw(`set search_path to "${address.schema}", "${address.schema}_analytics"`),
        )
      return (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows
    })
  const count = async (sql: string): Promise<number> =>
    Number((await ask(`select count(*) as n from (${sql}) as counted`))[0]?.n)
  const at = (source: number, table: string): string => `"${sources[source]?.schema}"."${table}"`

  beforeAll(async () => {
    address = await kind.viewed()
    config = configure(sandbox, address, [], { sync: { resources: 'all' } })
    await done(config, 'sync')
    warehouse = await reopen(address)
    ;({ sources } = await dbtSources<{ readonly sources: readonly Source[] }>(config))
    ;({ datasets } = supersetOf(config))
    answers.set(kind.name, found)
  })

  it('runs every example, and most have something to show', async () => {
    let some = 0
    for (const { name, examples, part } of described) {
      expect(examples.length, name).toBeGreaterThan(0)
      for (const { title, sql } of examples) {
        const rows = await ask(sql)
        if (part === 'state' || part === 'view') continue
        some += rows.length > 0 ? 1 : 0
        found[`${name}: ${title}`] = rows.map((row) => Object.entries(row).map(([key, v]) => [key, plain(v)]))
      }
    }
    expect(some).toBeGreaterThan(45)
    const empty: string[] = []
    for (const { name, example } of told) {
      const rows = (await ask(example.sql)).map((row) => Object.values(row).map(plain))
      found[name] = rows
      if (rows.length === 0) empty.push(name)
    }
    expect(empty.length, empty.join(', ')).toBeLessThan(5)
  })

  /** Tables whose example shows a row more than once. */
  const multiplied = async (change: (sql: string) => string): Promise<string[]> => {
    const names: string[] = []
    for (const { name, key, examples } of dataTables) {
      const all = change(examples[0]!.sql).replace(/\norder by [\s\S]*$/, '')
      const distinct = `select distinct ${key.join(', ')} from (${all}) as found`
      if ((await count(all)) !== (await count(distinct))) names.push(name)
    }
    return names
  }

  it('shows no row twice, because every join is within the tenant', async () => {
    expect(await multiplied((sql) => sql)).toEqual([])
    const careless = await multiplied((sql) =>
      sql.replaceAll(/ on \w+\.tenant_id = \w+\.tenant_id and/g, ' on'),
    )
    expect(careless).toEqual(expect.arrayContaining(['notes', 'repair_orders', 'repair_order_parts']))
    const byServiceAlone = await multiplied((sql) =>
      sql.replaceAll(/ and \w+\.repair_order_id = \w+\.repair_order_id/g, ''),
    )
    expect(byServiceAlone).toEqual(expect.arrayContaining(['repair_order_labors', 'repair_order_parts']))
  })

  const cut = told.filter(
    ({ day, splits, kind: how, denominator }) =>
      day !== null && splits === null && how !== 'distinct' && !denominator?.includes('distinct'),
  )
  // All in one query: that view takes longest.
  it('figures of whole months match shop_months', async () => {
    const monthly = ({ name, denominator, left_out }: (typeof cut)[number], i: number): string[] => {
      const factor = unitFactor[figures.find((each) => each.name === name)!.unit] ?? 1
      const ratio = `sum(${name}_numerator) * 1.0 / nullif(sum(${name}_denominator), 0) * ${factor}`
      const left = left_out === null ? '0' : `sum(${name}_left_out)`
      return [`${denominator === null ? `sum(${name})` : ratio} as v${i}`, `${left} as l${i}`]
    }
    const months = await ask(
      `select shop_key, ${cut.flatMap(monthly).join(', ')} from shop_months where month between '2026-01' and '2026-03' group by shop_key`,
    )
    const byShop = new Map(months.map((row) => [row.shop_key, row]))
    expect(cut.length).toBeGreaterThan(30)
    for (const [i, { name, example }] of cut.entries()) {
      const rows = await ask(example.sql)
      expect(rows.length, name).toBeGreaterThan(0)
      for (const row of rows) {
        const expected = byShop.get(row.shop_key)
        // If nothing is known, a month shows null, like a sum; a count is 0 there.
        expect([name, row.shop_key, plain(row[name]) ?? 0, Number(row.left_out ?? 0)]).toEqual([
          ...[name, row.shop_key, plain(expected?.[`v${i}`]) ?? 0, Number(expected?.[`l${i}`])],
        ])
      }
    }
  })

  it("Superset's metrics run, mean the same wherever they have one name, and match shop_months for a month", async () => {
    const metricsOf = new Map<string, Record<string, unknown>>()
    const byName = new Map<string, unknown[]>()
    for (const { table_name, sql, metrics } of datasets) {
      const relation = sql === undefined ? table_name : table_name.replace(/_by_.*/, '')
      // Tables are datasets, too.
      if (!described.some(({ name, part }) => name === relation && (part === 'view' || part === 'derived')))
        continue
      for (const { expression } of metrics) expect(expression).not.toMatch(/\(([^()]+)\) AND \(\1\)/)
      const list = metrics.map(({ expression }, i) => `${expression} as m${i}`)
      const [row = {}] = await ask(`select ${list.join(', ')} from ${relation}`)
      const values = metrics.map(({ metric_name }, i) => [metric_name, plain(row[`m${i}`])] as const)
      metricsOf.set(table_name, Object.fromEntries(values))
      for (const [name, value] of values)
        if (name !== 'count') byName.set(name, [...(byName.get(name) ?? []), value ?? 0])
    }
    found.metrics = Object.fromEntries(metricsOf)
    const shared = [...byName].filter(([, values]) => values.length > 1)
    expect(shared.length).toBeGreaterThan(30)
    expect(shared.filter(([, values]) => new Set(values).size > 1)).toEqual([])
    expect(shared.filter(([, [value]]) => Number(value) !== 0).length).toBeGreaterThan(25)
    const of = (view: string, name: string): string => {
      const { metrics } = datasets.find(({ table_name }) => table_name === view)!
      return metrics.find(({ metric_name }) => metric_name === name)!.expression
    }
    const inMonth = "orders o join dim_days d on d.day = o.closed_on where d.month = '2026-02-01'"
    for (const name of ['gross_margin', 'average_repair_order', 'sales']) {
      const [asked = {}] = await ask(`select ${of('orders', name)} as v from ${inMonth}`)
      const [kept = {}] = await ask(
        `select ${of('shop_months', name)} as v from shop_months where month = '2026-02'`,
      )
      expect(Number(kept.v)).toBeGreaterThan(0.01)
      expect(plain(asked.v)).toBe(plain(kept.v))
    }
  })

  it('what people type instead runs, and returns something other than the figure', async () => {
    const same: string[] = []
    for (const { name, instead, relation, where, value } of told) {
      const [right = {}] = await ask(
        `select ${value} as v from ${relation}${where === null ? '' : ` where ${where}`}`,
      )
      for (const { sql } of instead) {
        const wrong = await ask(sql)
        // What sold in the last year has no turns, 0, when this is played a year after the data.
        if (
          Number(right.v) !== 0 &&
          wrong.length === 1 &&
          plain(Object.values(wrong[0] ?? {})[0]) === plain(right.v)
        )
          same.push(`${name}: ${sql}`)
      }
    }
    expect(same).toEqual([])
  })

  it('claims keys, references and columns that are never null, and they hold', async () => {
    expect(sources.map(({ name }) => name)).toEqual(['shopsync', 'shopsync_analytics'])
    expect(sources[0]?.tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['notes', 'tenants']))
    const claims = { unique: 0, relationships: 0, not_null: 0 }
    const all = sources.flatMap(({ tables }, i) => tables.map((table) => ({ ...table, i })))
    for (const { name, i, columns, data_tests = [] } of all) {
      expect(name).not.toMatch(/^(sync|report)_/)
      // Each in one query, which counts the rows of which something else holds.
      const names = columns.map((column) => `"${column.name}"`)
      const never = columns.filter((column) => column.data_tests).map((column) => `"${column.name}"`)
      const exceptions = never.map((column) => `count(*) - count(${column})`)
      claims.not_null += never.length
      for (const { unique, relationships } of data_tests) {
        if (unique) exceptions.push(`count(*) - count(distinct ${unique.arguments.column_name})`)
        claims.unique += unique ? 1 : 0
        if (!relationships) continue
        claims.relationships += 1
        expect(relationships.config).toEqual({ severity: 'warn' })
        const { column_name: from, to, field } = relationships.arguments
        const [, parent = ''] = /^source\('shopsync', '(\w+)'\)$/.exec(to) ?? []
        const known = `select ${field} from ${at(0, parent)}`
        exceptions.push(`count(case when ${from} is not null and ${from} not in (${known}) then 1 end)`)
      }
      const list = ['count(*)', ...names.map((column) => `count(${column})`), ...exceptions]
      const [row = {}] = await ask(
        `select ${list.map((one, n) => `${one} as c${n}`).join(', ')} from ${at(i, name)}`,
      )
      const wrong = exceptions.filter((_, n) => Number(row[`c${1 + names.length + n}`]) !== 0)
      expect([name, wrong]).toEqual([name, []])
    }
    expect(claims.unique).toBeGreaterThan(60)
    expect(claims.relationships).toBeGreaterThan(60)
    expect(claims.not_null).toBeGreaterThan(170)
  })

  it.runIf(kind.name === 'sqlite')('claims no freshness for a text, which dbt could not query', () => {
    expect(JSON.stringify(sources)).not.toMatch(/freshness":|loaded_at/)
    expect(sources.map(({ schema }) => schema)).toEqual(['main', 'main'])
  })

  it.runIf(kind.name === 'postgres')('is as fresh as the cursor that is furthest behind', async () => {
    // Where dbt can ask for it, and nowhere else.
    for (const { config, tables } of sources) {
      expect(config).toBeUndefined()
      for (const { name, config: own } of tables)
        expect(own && Object.keys(own).sort(), name).toEqual(own && ['freshness', 'loaded_at_query'])
    }
    const query = (name: string): string =>
      sources[0]?.tables.find((table) => table.name === name)?.config?.loaded_at_query ?? ''
    expect(query('tenants')).toBe('')
    const asked = async (): Promise<unknown> => Object.values((await ask(query('notes')))[0] ?? {})[0]
    const cursors = `"${address.schema}".sync_cursors`
    const oldest = await ask(
      `select min(complete_through) as oldest from ${cursors} where resource = 'notes'`,
    )
    expect(await asked()).toEqual(oldest[0]?.oldest)
    expect(query('repair_order_parts')).toContain("resource = 'repair_orders'")
    const set = (what: string) =>
      ask(`update ${cursors} set ${what} where resource = 'notes' and tenant_id = 101`)
    await set("complete_through = '2020-01-01T00:00:00Z'")
    expect(String(await asked())).toContain('2020-01-01')
    // Never complete: nobody knows its age, and the other tenant must not hide it.
    await set('complete_through = null')
    expect(await asked()).toBeNull()
    await set("status = 'unavailable'")
    expect(String(await asked())).not.toContain('2020')
    await set("status = 'ok'")
    await ask(`update "${address.schema}".tenants set revoked_at = now() where tenant_id = 101`)
    expect(await asked()).not.toBeNull()
  })

  it('leaves out the parts of deleted orders', async () => {
    const [{ sql = '' } = {}] = described.find(({ name }) => name === 'repair_order_parts')?.examples ?? []
    const all = sql.replace(/\nlimit 10$/, '')
    const [first] = await ask(all)
    const before = await count(all)
    await ask(
      `update repair_orders set _deleted_at = _synced_at where tenant_id = ${first?.tenant_id} and id = ${first?.repair_order_id}`,
    )
    expect(await count(all)).toBeLessThan(before)
  })
})

it.runIf(bothWarehouses().length === 2)('both answer the same', () => {
  expect(answers.get('sqlite')).toEqual(answers.get('postgres'))
})

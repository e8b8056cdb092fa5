/** The sources for dbt: what they claim about the tables holds in real warehouses, queried as dbt would. */
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { toDbt } from '../../../src/features/dictionary/dbtmodels.js'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import type { Address } from '../../support/harness/place.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { prepareViews } from '../../support/harness/views.js'
import { biToolsOf, bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { showTwice } from '../../support/world/twice.js'

interface Test {
  readonly unique?: { readonly arguments: { readonly column_name: string } }
  readonly relationships?: {
    readonly arguments: { readonly column_name: string; readonly to: string; readonly field: string }
    readonly config: { readonly severity: string }
  }
}
interface SourceTable {
  readonly name: string
  readonly config?: { readonly loaded_at_query?: string; readonly freshness?: object }
  readonly data_tests?: readonly Test[]
  readonly columns: readonly {
    readonly name: string
    readonly data_type: string
    readonly data_tests?: readonly string[]
  }[]
}
interface Sources {
  readonly sources: readonly {
    readonly name: string
    readonly schema: string
    readonly config?: object
    readonly tables: readonly SourceTable[]
  }[]
}

const dictionary = describeModel(
  known.list.map(({ resource }) => resource),
  known.state,
)
const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 12, seed: 5 })
showTwice(sandbox)

describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  let warehouse: Warehouse
  let sources: Sources['sources']
  const ask = async (sql: string): Promise<Record<string, unknown>[]> =>
    (await warehouse.db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(sql))).rows
  const count = async (sql: string): Promise<number> =>
    Number((await ask(`select count(*) as n ${sql}`))[0]?.n)
  const at = (source: number, table: string): string => `"${sources[source]?.schema}"."${table}"`

  beforeAll(async () => {
    address = await kind.viewed()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
    const text = toDbt(dictionary, { ...(await biToolsOf(address)).dbt, staleHours: 26 })
    ;({ sources } = parse(text) as Sources)
  })
  afterAll(() => warehouse.close())

  it("names existing tables, views and columns, but no table with the product's state", async () => {
    expect(sources.map(({ name }) => name)).toEqual(['shopsync', 'shopsync_analytics'])
    for (const [i, { tables }] of sources.entries())
      for (const { name, columns } of tables) {
        expect(name).not.toMatch(/^(sync|report)_/)
        await ask(
          `select ${columns.map((column) => `"${column.name}"`).join(', ')} from ${at(i, name)} limit 1`,
        )
      }
    expect(sources[0]?.tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['notes', 'tenants']))
  })

  it('claims keys, references and columns that are never null, and they hold', async () => {
    const tests = { unique: 0, relationships: 0, not_null: 0 }
    const all = sources.flatMap(({ tables }, i) =>
      tables.map((table) => ({ ...table, table: at(i, table.name) })),
    )
    for (const { name, table, columns, data_tests = [] } of all) {
      for (const column of columns.filter((each) => each.data_tests)) {
        expect(column.data_tests).toEqual(['not_null'])
        tests.not_null += 1
        expect(await count(`from ${table} where "${column.name}" is null`), `${name}.${column.name}`).toBe(0)
      }
      for (const { unique, relationships } of data_tests)
        if (unique) {
          tests.unique += 1
          const { column_name: key } = unique.arguments
          expect(
            await count(`from (select ${key} from ${table} group by ${key} having count(*) > 1) as found`),
          ).toBe(0)
        } else if (relationships) {
          tests.relationships += 1
          const { column_name: from, to, field } = relationships.arguments
          const [, parent = ''] = /^source\('shopsync', '(\w+)'\)$/.exec(to) ?? []
          expect(relationships.config).toEqual({ severity: 'warn' })
          const lost = `from ${table} where ${from} is not null and ${from} not in (select ${field} from ${at(0, parent)})`
          expect(await count(lost), `${name}: ${from}`).toBe(0)
        }
    }
    expect(tests.unique).toBeGreaterThan(60)
    expect(tests.relationships).toBeGreaterThan(60)
    expect(tests.not_null).toBeGreaterThan(170)
  })

  it.runIf(kind.name === 'sqlite')('claims no freshness for a text, which dbt could not query', () => {
    expect(JSON.stringify(sources)).not.toMatch(/freshness":|loaded_at/)
    expect(sources.map(({ schema }) => schema)).toEqual(['main', 'main'])
  })

  it.runIf(kind.name === 'postgres')('claims a freshness where dbt can ask for it, and nowhere else', () => {
    for (const { config, tables } of sources) {
      expect(config).toBeUndefined()
      for (const { name, config: own } of tables)
        expect(own && Object.keys(own).sort(), name).toEqual(own && ['freshness', 'loaded_at_query'])
    }
    expect(sources[0]?.tables.find(({ name }) => name === 'notes')?.config?.freshness).toBeDefined()
    expect(sources[0]?.tables.find(({ name }) => name === 'tenants')?.config).toBeUndefined()
  })

  it.runIf(kind.name === 'postgres')('is as fresh as the cursor that is furthest behind', async () => {
    const query = (name: string): string =>
      sources[0]?.tables.find((table) => table.name === name)?.config?.loaded_at_query ?? ''
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
})

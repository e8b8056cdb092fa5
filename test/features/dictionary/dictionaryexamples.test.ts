/**
 * The dictionary's queries run as they are on both kinds of warehouse, with the same results. Two tenants whose ids
 * collide, and orders that show the same service, reveal whether a query keeps them apart.
 */
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import { dataTables } from '../../../src/features/dictionary/dictionary.js'
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
const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 12, seed: 5 })
showTwice(sandbox)

type Row = Record<string, unknown>

/** Values in a form that can be compared between dialects. */
const plain = (value: unknown): unknown => {
  if (value === null) return null
  if (typeof value === 'boolean') return String(Number(value))
  return Number.isFinite(Number(value)) ? String(Number(value)) : String(value)
}

const answers = new Map<string, Map<string, unknown>>()

describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  let warehouse: Warehouse
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

  beforeAll(async () => {
    address = await kind.viewed()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse)
    await prepareViews(warehouse)
  })
  afterAll(() => warehouse.close())

  it('runs every example', async () => {
    const found = new Map<string, unknown>()
    for (const { name, examples, part } of dictionary.tables) {
      expect(examples.length, name).toBeGreaterThan(0)
      for (const { title, sql } of examples) {
        const rows = await ask(sql)
        if (part === 'state' || part === 'view') continue
        found.set(
          `${name}: ${title}`,
          rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, v]) => [key, plain(v)]))),
        )
      }
    }
    answers.set(kind.name, found)
    expect(
      [...found.values()].filter((rows) => Array.isArray(rows) && rows.length > 0).length,
    ).toBeGreaterThan(45)
  })

  /** Tables whose example shows a row more than once. */
  const multiplied = async (change: (sql: string) => string): Promise<string[]> => {
    const names: string[] = []
    for (const { name, key, examples } of dataTables(dictionary)) {
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

  it('leaves out the parts of deleted orders', async () => {
    const [{ sql = '' } = {}] =
      dictionary.tables.find(({ name }) => name === 'repair_order_parts')?.examples ?? []
    const all = sql.replace(/\nlimit 10$/, '')
    const [first] = await ask(all)
    const before = await count(all)
    await ask(
      `update repair_orders set _deleted_at = _synced_at where tenant_id = ${first?.tenant_id} and id = ${first?.repair_order_id}`,
    )
    expect(await count(all)).toBeLessThan(before)
  })
})

it.runIf(bothWarehouses().length === 2)('gets the same answers from both', () => {
  expect(answers.get('sqlite')).toEqual(answers.get('postgres'))
})

/**
 * What applies to every view of schema/views/, including new ones, in both warehouses and for records that lack what the
 * document promises, with values that nobody would enter on purpose: comments, keys that refer to a row,
 * columns that are never null. What views show is in oracle.test.ts; their examples run in test/features/dictionary.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ViewColumn } from '../../../schema/view.js'
import { views } from '../../../schema/views/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { ask, prepareViews, query, viewRows } from '../../support/harness/views.js'
import { bothWarehouses, type Kind, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { spoil, starve } from '../../support/world/hostile.js'
import { reconcile } from '../../support/world/notes.js'
import { showTwice } from '../../support/world/twice.js'

const names = views.map(({ name }) => name)

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 40, seed: 7, until: '2026-11-20T12:00:00Z' })
showTwice(sandbox)
spoil(sandbox)
starve(sandbox)

const { store } = sandbox
const [tenant = 0] = store.tenantIds
const yesterday = new Date(Date.now() - 86_400_000).toISOString()
const put = (id: number, resource: string, record: object = {}): void =>
  store.put(tenant, resource, { id, updated_at: yesterday, ...record })

// Records with only the fields without which they can't be stored, including an order in each state.
for (const resource of store.resources) put(9_000_000, resource)
const lines = [{ id: 1 }]
const services = [{ id: 1, labors: lines, parts: lines, sublets: lines, hazmats: lines, inspections: lines }]
for (const [i, state] of ['estimate', 'in_progress', 'invoice'].entries())
  put(9_000_001 + i, 'repair_orders', { state, services })
put(9_000_001, 'payments', { repair_order_id: 9_000_003 })
put(9_000_001, 'purchase_records', { line_items: [{}] })

// From before the calendar begins.
put(9_000_007, 'repair_orders', { state: 'invoice', updated_at: '1985-01-01T00:00:00Z' })

// Invoices whose lines each count but whose sum is absurd: of one invoice, of its parts, and of two of a day.
const [inventory = 0] = store.ids(tenant, 'inventories')
const many = Array.from({ length: 1001 }, (_, i) => ({
  id: i + 1,
  quantity: 999_999,
  part_inventory_id: inventory,
}))
const hours = (lines: number): object[] =>
  Array.from({ length: lines }, (_, i) => ({ id: i + 1, hours: 99_999.5 }))
const crowded = (lines: number, shop: number | null): object => ({
  state: 'invoice',
  closed_at: yesterday,
  shop_id: shop,
  services: [
    {
      id: 1,
      labor_rate_cents: 1,
      parts: shop === null ? many : [],
      canned_job_id: 9_000_001,
      labors: hours(lines),
    },
  ],
})
put(9_000_001, 'canned_jobs', { labors: hours(10_001) })
put(9_000_004, 'repair_orders', crowded(10_001, null))
put(9_000_005, 'repair_orders', crowded(5001, 1))
put(9_000_006, 'repair_orders', crowded(5001, 1))

/** Orders that are deleted after a first sync. */
const gone = [9_000_008, 9_000_009, 9_000_010]

// A tenant with a shop and nothing else.
const empty = 999
store.addTenant({ id: empty })
store.put(empty, 'shops', { id: 1, updated_at: yesterday })
store.switchOff('notes', empty)

/** The records in a warehouse, some of them deleted after a first sync. */
async function filled(kind: Kind): Promise<Warehouse> {
  const warehouse = await reopen(await kind.viewed())
  for (const id of gone) put(id, 'repair_orders')
  await sync(sandbox, warehouse)
  for (const id of gone) store.remove(tenant, 'repair_orders', id)
  await reconcile(sandbox, warehouse, { resources: ['repair_orders'] })
  await prepareViews(warehouse)
  // A cursor whose first walk is running.
  await warehouse.db.insertInto('sync_cursors').values({ tenant_id: empty, resource: 'unwalked' }).execute()
  // A tenant of a version that didn't record when it was new.
  await warehouse.db
    .updateTable('tenants')
    .set({ rebuild_from: null })
    .where('tenant_id', '=', empty)
    .execute()
  return warehouse
}

const full = new Map<string, Warehouse>()
beforeAll(async () => {
  for (const kind of bothWarehouses()) full.set(kind.name, await filled(kind))
})

type Row = Record<string, unknown>

describe('every view', () => {
  it('has a comment on itself and on each column in Postgres', async () => {
    const warehouse = full.get('postgres')
    if (!warehouse) return
    const { rows } = await sql<{ name: string; silent: number }>`select c.relname as name,
      sum(case when col_description(c.oid, a.attnum) is null or obj_description(c.oid) is null then 1 else 0 end)::int as silent
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname = ${warehouse.dialect.views().where} and c.relkind = 'v' and a.attnum > 0
      group by c.relname order by c.relname`.execute(warehouse.db)
    expect(rows.filter(({ silent }) => silent > 0)).toEqual([])
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining([...names, 'repair_order_totals']))
  })

  it('has a plan that Postgres finds cheap: it compiles one that it finds expensive, for seconds', async () => {
    const warehouse = full.get('postgres')
    if (!warehouse) return
    await warehouse.dialect.bulk.optimize(warehouse.tables)
    const schema = warehouse.dialect.views().where
    const costs: [string, number][] = []
    for (const name of names) {
      const { rows } = await sql<{
        'QUERY PLAN': string
      }>`explain select * from ${sql.id(schema, name)}`.execute(warehouse.db)
      const text = rows.map((row) => row['QUERY PLAN']).join('\n')
      costs.push([name, Number(/\.\.([\d.]+) /.exec(text)?.[1])])
      // One union of all legs: with unlike types, Postgres would compute each column again for each of them.
      if (name === 'shop_months') expect(text.match(/Append/g)?.length).toBeLessThanOrEqual(7)
    }
    // It compiles above 100,000. The server makes statistics of its own meanwhile, and a plan costs a fifth more or less.
    expect(costs.filter(([, cost]) => !(cost < 30_000))).toEqual([])
  })

  it.each(bothWarehouses())('is empty in an empty warehouse: $name', async (kind) => {
    const warehouse = await reopen(await kind.viewed())
    for (const name of names) {
      const [row] = await ask(warehouse, name, 'select count(*) as n from {view}')
      expect([name, row?.n === 0]).toEqual([name, !['dim_days', 'changes'].includes(name)])
    }
  })

  // Of the records, oracle.test.ts compares everything else.
  it.each(['freshness', 'changes', 'changes_by_tenant', 'dim_days'])(
    '%s shows the same rows on both',
    async (name) => {
      // What depends on the run and not on the records.
      const own = /^(watermark|complete_through|deletes_checked_at|last_success_at|through|rebuild_from)$/
      const [one, other] = await Promise.all(
        [...full.values()].map(async (warehouse) =>
          (await viewRows(warehouse, name))
            .map((row) => JSON.stringify(row, (column, value: unknown) => (own.test(column) ? 0 : value)))
            .sort(),
        ),
      )
      expect(one).not.toEqual([])
      expect(other).toEqual(one)
    },
  )

  it('of days has the weeks from Monday and from Sunday, across years too', async () => {
    const days = ['2026-03-01', '2026-03-02', '2026-03-07', '2027-01-01', '2027-01-03']
    const text = `select day, weekday_name, week, week_from_sunday from {view} where day in ('${days.join("', '")}') order by day`
    for (const warehouse of full.values())
      expect((await ask(warehouse, 'dim_days', text)).map((row) => Object.values(row))).toEqual([
        ['2026-03-01', 'Sunday', '2026-02-23', '2026-03-01'],
        ['2026-03-02', 'Monday', '2026-03-02', '2026-03-01'],
        ['2026-03-07', 'Saturday', '2026-03-02', '2026-03-01'],
        ['2027-01-01', 'Friday', '2026-12-28', '2026-12-27'],
        ['2027-01-03', 'Sunday', '2026-12-28', '2027-01-03'],
      ])
  })

  const shown = new Map<string, Promise<Row[]>>()
  const rowsOf = (view: string): Promise<Row[]> => {
    const rows = shown.get(view) ?? ask(full.get('sqlite')!, view)
    shown.set(view, rows)
    return rows
  }
  it.each([...views])('$name has keys that refer to a row, and no key where the id is null', async (view) => {
    const rows = await rowsOf(view.name)
    for (const [column, { references }] of Object.entries<ViewColumn>(view.columns)) {
      if (!references) continue
      const target = await rowsOf(references)
      const key = column in (target[0] ?? {}) ? column : `${references.slice(4, -1)}_key`
      const there = new Set(target.map((row) => row[key]))
      const lost = rows.filter((row) => row[column] !== null && !there.has(row[column]))
      expect([column, lost]).toEqual([column, []])
      const id = column.replace(/_key$/, '_id')
      if (column !== id && id in (rows[0] ?? {}))
        expect(rows.filter((row) => (row[column] === null) !== (row[id] === null))).toEqual([])
    }
  })

  const each = [...views].flatMap((view) =>
    bothWarehouses().map((kind) => [view.name, kind.name, view] as const),
  )
  it.each(each)('%s is null where it may be, and nowhere else: %s', async (name, kind, view) => {
    const warehouse = full.get(kind) as Warehouse
    const columns = Object.entries(view.columns)
    const counts = columns.map(([column]) => `count(*) - count("${column}") as "${column}"`)
    const [row = {}] = await query(warehouse, `select count(*) as n, ${counts.join(', ')} from {${name}}`)
    expect(Number(row.n)).toBeGreaterThan(name === 'changes' ? 0 : 2)
    const found = columns.map(([column]) => `${column}: ${Number(row[column]) === 0 ? 'never' : 'may be'}`)
    const said = columns.map(
      ([column, { isAlways = false }]) => `${column}: ${isAlways ? 'never' : 'may be'}`,
    )
    // A whole month of a shop is rarely completely unknown: it may be, but doesn't have to be here.
    if (/^shop_(days|months)$/.test(name))
      expect(said.filter((one) => one.endsWith('never') && !found.includes(one))).toEqual([])
    else expect(found).toEqual(said)
    for (const [column, { isUnique }] of columns)
      if (isUnique) {
        const [{ n } = {}] = await query(warehouse, `select count(distinct "${column}") as n from {${name}}`)
        expect(Number(n), column).toBe(Number(row.n))
      }
  })
})

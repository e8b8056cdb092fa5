/**
 * What applies to every view of schema/views/, including new ones: it can be made and read in both warehouses, shows
 * the same rows, has a type for each column, and each of its keys refers to a row.
 */
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ViewColumn } from '../../../schema/view.js'
import { views } from '../../../schema/views/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { ask, prepareViews, query, viewRows } from '../../support/harness/views.js'
import { bothWarehouses, type Kind, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { reconcile } from '../../support/world/notes.js'

const names = views.map(({ name }) => name)
const settings = {
  timeZone: 'America/Chicago',
  shopTimeZones: { '101/2': 'Asia/Kathmandu' },
  names: { vehicles: ['year', 'make', 'model'] },
  tenantNames: { '101': "Main Street's Auto" },
}

const sandbox = await sandboxOfFile({
  tenants: [{ id: 101 }, { id: 102 }],
  repairOrders: 40,
  seed: 7,
  until: '2026-11-01T12:00:00Z',
})

const columnsOf = (view: string) =>
  Object.entries<ViewColumn>(views.find(({ name }) => name === view)?.columns ?? {}).map(
    ([column, { references }]) => ({ column, references }),
  )

/** Filled by a sync. */
async function filled(kind: Kind): Promise<Warehouse> {
  const warehouse = await reopen(await kind.viewed())
  await sync(sandbox, warehouse)
  await prepareViews(warehouse, settings)
  return warehouse
}

const empty = new Map<string, Warehouse>()
const full = new Map<string, Warehouse>()
beforeAll(async () => {
  for (const kind of bothWarehouses()) {
    full.set(kind.name, await filled(kind))
    empty.set(kind.name, await reopen(await kind.viewed()))
  }
  for (const id of [1, 2]) sandbox.store.remove(101, 'repair_orders', id)
  for (const warehouse of full.values()) await reconcile(sandbox, warehouse, { resources: ['repair_orders'] })
})
afterAll(async () => {
  for (const warehouse of [...full.values(), ...empty.values()]) await warehouse.close()
})

const typesBy: Record<string, string> = {
  id: 'INTEGER',
  integer: 'INTEGER',
  cents: 'INTEGER',
  hours: 'REAL',
  quantity: 'REAL',
  number: 'REAL',
  boolean: 'BOOLEAN',
  text: 'TEXT',
  timestamp: 'TEXT',
  day: 'DATE',
}

describe('every view', () => {
  it('has a type for each column in SQLite', () => {
    const file = full.get('sqlite')?.where.replace('sqlite:', '') ?? ''
    const db = new BetterSqlite3(file, { readonly: true })
    for (const { name, columns } of views) {
      const found = db.pragma(`table_info("${name}")`) as { name: string; type: string }[]
      const wanted = Object.entries(columns).map(([column, { kind }]) => [column, typesBy[kind]])
      expect([name, found.map((column) => [column.name, column.type])]).toEqual([name, wanted])
    }
    db.close()
  })

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

  it.each(names)('%s shows the same rows on both', async (name) => {
    // What depends on the run and not on the records.
    const own = [
      'watermark',
      'complete_through',
      'deletes_checked_at',
      'last_success_at',
      'through',
      'rebuild_from',
      ...['deleted_on', 'deleted_at', 'deleted_at_local'],
    ]
    const bare = async (warehouse: Warehouse): Promise<string[]> =>
      (await viewRows(warehouse, name))
        .map((row) => JSON.stringify({ ...row, ...Object.fromEntries(own.map((column) => [column, 0])) }))
        .sort()
    const [first, second] = [...full.values()]
    expect(await bare(first!)).not.toEqual([])
    if (!second) return
    // Minutes and days up to now may change between two queries, on one side only.
    let [before, between, after] = [['?'], [''], ['']]
    while (before.join() !== after.join())
      [before, between, after] = [await bare(first!), await bare(second), await bare(first!)]
    expect(between).toEqual(before)
  })

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

  it.each(names)('%s can be read in an empty warehouse', async (name) => {
    for (const warehouse of empty.values())
      expect((await ask(warehouse, name, 'select count(*) as n from {view}'))[0]?.n === 0).toBe(
        !['dim_days', 'changes'].includes(name),
      )
  })

  it.each(views.map(({ name, example }) => [name, example]))(
    '%s has an example that works in both',
    async (_, example) => {
      for (const warehouse of full.values()) {
        const within = names.reduce(
          (text, name) => text.replaceAll(new RegExp(`\\b(from|join) ${name}\\b`, 'g'), `$1 {${name}}`),
          example,
        )
        expect(await query(warehouse, within)).toBeInstanceOf(Array)
      }
    },
  )

  it.each(names)('%s can be joined to what its keys refer to without prefixes', async (name) => {
    const mine = columnsOf(name)
    for (const { column, references } of mine.filter((one) => one.references?.startsWith('dim_'))) {
      if (name.startsWith('dim_') || references === undefined) continue
      const theirs = columnsOf(references)
      const key = theirs.find((one) => one.column === column) ?? theirs[0]!
      const isShared = (one: { column: string }): boolean => mine.some((own) => own.column === one.column)
      // Keys and names are the same on both sides; nobody needs a shop's first day from both.
      const same =
        name === 'orders' && references === 'dim_customers' ? /_(id|key)$/ : /_(id|key|name)$|^first_day$/
      const shared = theirs.filter((one) => isShared(one) && !same.test(one.column))
      expect([column, references, shared.map((one) => one.column)]).toEqual([column, references, []])
      const own = theirs.filter((one) => !isShared(one)).map((one) => one.column)
      const join = `{${name}} a join {${references}} b on b.${key.column} = a.${column}`
      for (const warehouse of full.values())
        expect(await query(warehouse, `select ${own.join(', ')} from ${join} limit 1`)).toBeInstanceOf(Array)
    }
  })

  it.each(names)('%s has keys that refer to a row, and no key where the id is null', async (name) => {
    const view = views.find((one) => one.name === name)
    const rows = await ask(full.get('sqlite') as Warehouse, name)
    for (const [column, { references }] of Object.entries(view?.columns ?? {})) {
      if (!references) continue
      const target = await ask(full.get('sqlite') as Warehouse, references)
      const key = column in (target[0] ?? {}) ? column : `${references.slice(4, -1)}_key`
      const there = new Set(target.map((row) => row[key]))
      const lost = rows.filter((row) => row[column] !== null && !there.has(row[column]))
      expect([column, lost]).toEqual([column, []])
      const id = column.replace(/_key$/, '_id')
      if (column !== id && id in (rows[0] ?? {}))
        expect(rows.filter((row) => (row[column] === null) !== (row[id] === null))).toEqual([])
    }
  })
})

/**
 * Makes the views once, makes them again if something has changed, and never at the cost of a user's own relations. Who may
 * make and read them in Postgres is in test/transcripts/grants.txt and test/features/grants.
 */
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { model } from '../../support/harness/model.js'
import { known } from '../../support/harness/runs.js'
import { ask, declaredViews, make, prepareViews, query } from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  open,
  readMeta,
  rewriteRows,
  storeMeta,
  type WantedView,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

const opened: Warehouse[] = []
afterAll(async () => {
  for (const warehouse of opened) await warehouse.close()
})
async function fresh(kind: Kind): Promise<Warehouse> {
  const warehouse = await open(kind)
  opened.push(warehouse)
  return warehouse
}
const run = async (warehouse: Warehouse, text: string): Promise<void> =>
  void (await sql.raw(text).execute(warehouse.db))

describe.each(bothWarehouses())('in $name, the views', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))

  it('are made once, and again if one is gone or the configuration changes', async () => {
    const warehouse = await fresh(kind)
    const first = await make(warehouse)
    expect(first.troubles).toEqual([])
    expect(first.made).toContainEqual({ table: 'orders', what: 'create view' })
    expect(await make(warehouse)).toEqual({ made: [], troubles: [] })

    const store = warehouse.dialect.views()
    await run(warehouse, `drop view ${store.relation('receivables')}`)
    expect((await make(warehouse)).made).toEqual([{ table: 'receivables', what: 'create view' }])

    const { made } = await make(warehouse, { unlisted: 'leave out' })
    expect(made).toContainEqual({ table: 'purchases', what: 'replace view' })
    expect(made).not.toContainEqual({ table: 'dim_staffs', what: 'replace view' })
  })

  it('of 0.3.0 are all made again, with equal texts: what they call was bound when they were made', async () => {
    const warehouse = await fresh(kind)
    const store = warehouse.dialect.views()
    const { made } = await make(warehouse)
    const meta = JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
    // 0.3.0 remembered a digest of the view alone.
    const wanted = [
      ...declaredViews(store, { model: known, unlisted: 'keep' }),
      ...store.published(warehouse.tables),
    ]
    for (const view of wanted)
      meta[view.name].wanted = createHash('sha256').update(JSON.stringify(view)).digest('hex').slice(0, 20)
    await warehouse.write([storeMeta(warehouse.db, store.memory, JSON.stringify(meta))])
    const bound = async () =>
      kind.name === 'postgres'
        ? await query(
            warehouse,
            `select min(xmin::text::bigint) as oldest from pg_rewrite r
            where ev_class in (select oid from pg_class where relnamespace = to_regnamespace('"${store.where}"'))`,
          )
        : [{ oldest: 0 }]
    const [before] = await bound()
    const planted = `"planted ${store.where}"`
    const strange = () =>
      query(
        warehouse,
        `select stxname from pg_statistic_ext join pg_depend on refclassid = 'pg_operator'::regclass and objid = pg_statistic_ext.oid`,
      )
    if (kind.name === 'postgres') {
      const [found] = (await query(
        warehouse,
        `select format('drop statistics %I.%I', n.nspname, stxname) as drop, pg_get_statisticsobjdef(s.oid) as again
         from pg_statistic_ext s join pg_namespace n on n.oid = stxnamespace where stxname like '%_text' limit 1`,
      )) as { drop: string; again: string }[]
      await run(
        warehouse,
        `create schema ${planted};
         create function ${planted}.joined(text, text) returns text language sql immutable as $$ select concat($1, $2) $$;
         create operator ${planted}.|| (function = ${planted}.joined, leftarg = text, rightarg = text);
         ${found?.drop}; ${found?.again.replaceAll('||', `operator(${planted}.||)`)}`,
      )
      expect(await strange()).toHaveLength(1)
    }
    const again = await make(warehouse)
    expect(again.made).toHaveLength(made.length)
    if (kind.name === 'postgres') {
      expect(Number((await bound())[0]?.oldest)).toBeGreaterThan(Number(before?.oldest))
      expect(await strange()).toEqual([])
    }
    expect(await make(warehouse)).toEqual({ made: [], troubles: [] })
  })

  test('are compared with their declarations again if what they are made from has changed, or one is gone', async () => {
    const warehouse = await fresh(kind)
    const store = warehouse.dialect.views()
    const remembered = async () => {
      const views = JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
      return views[' inputs']?.wanted
    }
    const nothing = { made: [], troubles: [] }
    expect((await make(warehouse, { inputs: 'a' })).made).not.toEqual([])
    expect(await remembered()).toBe('a')
    // Equal inputs promise equal texts, so these aren't compared.
    expect(await make(warehouse, { inputs: 'a', unlisted: 'leave out' })).toEqual(nothing)
    expect((await make(warehouse, { inputs: 'b', unlisted: 'leave out' })).made).not.toEqual([])
    expect(await remembered()).toBe('b')
    expect(await make(warehouse, { inputs: 'c', unlisted: 'leave out' })).toEqual(nothing)
    expect(await remembered()).toBe('c')
    await run(warehouse, `drop view ${store.relation('receivables')}`)
    const again = await make(warehouse, { inputs: 'c', unlisted: 'leave out' })
    expect(again.made).toEqual([{ table: 'receivables', what: 'create view' }])

    // An older program has made one again, and left what it doesn't know.
    const meta = JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
    meta.orders.wanted = 'of before'
    await warehouse.write([storeMeta(warehouse.db, store.memory, JSON.stringify(meta))])
    expect((await make(warehouse, { inputs: 'c', unlisted: 'leave out' })).made).toEqual([
      { table: 'orders', what: 'replace view' },
    ])

    // One that can't be made is tried again each time.
    await run(warehouse, `drop view ${store.relation('receivables')}`)
    await run(warehouse, `create table ${store.relation('receivables')} as select 1 as mine`)
    // The other views are of d then, and no longer of c.
    expect((await make(warehouse, { inputs: 'd' })).made).not.toEqual([])
    expect((await make(warehouse, { inputs: 'c', unlisted: 'leave out' })).made).not.toEqual([])
    for (const inputs of ['c', 'd', 'd'])
      expect((await make(warehouse, { inputs, unlisted: 'leave out' })).troubles).toMatchObject([
        { message: expect.stringContaining('The view receivables was not made') },
      ])
  })

  it("leave a user's view of the same name alone, and report it", async () => {
    const warehouse = await fresh(kind)
    const store = warehouse.dialect.views()
    if (kind.name === 'postgres') await run(warehouse, `create schema "${store.where}"`)
    await run(warehouse, `create view ${store.relation('orders')} as select 1 as mine`)
    const { made, troubles } = await make(warehouse)
    expect(troubles).toMatchObject([{ message: expect.stringContaining('The view orders was not made') }])
    expect(made.map(({ table }) => table)).toContain('order_lines')
    expect(await query(warehouse, 'select * from {orders}')).toEqual([{ mine: 1 }])
    await run(warehouse, `drop view ${store.relation('orders')}`)
    expect((await make(warehouse)).made).toEqual([{ table: 'orders', what: 'create view' }])
  })

  it('show names from a column or from _extra alike, and a default for records without one', async () => {
    const named = model(resources, { vehicles: { names: ['year', 'make', 'model'] } })
    const warehouse = await open(kind, named)
    opened.push(warehouse)
    const at = '2026-01-05T10:00:00.000000Z'
    const row = { updated_at: at, _synced_at: at }
    const { db } = warehouse
    await run(
      warehouse,
      `delete from ${warehouse.dialect.views().sql.table('sync_meta')} where name = 'names'`,
    )
    await db
      .insertInto('vehicles')
      .values([
        { tenant_id: 101, id: 1, ...row, _extra: '{"year":2019,"make":" Honda ","model":""}' },
        { tenant_id: 102, id: 1, ...row, _extra: '{"make":"Ford"}' },
        { tenant_id: 101, id: 2, ...row, _extra: null },
      ])
      .execute()
    // As a program that stored no names left them: views that read them have to wait.
    const waits = await make(warehouse, {}, named)
    expect([waits.isPostponed, waits.made.some(({ table }) => table === 'dim_vehicles')]).toEqual([
      true,
      false,
    ])
    const moved = await rewriteRows(warehouse, new AbortController().signal)
    expect(moved.find(({ table }) => table === 'vehicles')).toMatchObject({ to: 'name', values: 2 })
    await prepareViews(warehouse)
    const vehicles = await ask(warehouse, 'dim_vehicles', 'select * from {view} order by vehicle_key')
    expect(vehicles.map((vehicle) => [vehicle.vehicle_key, vehicle.vehicle_name])).toEqual([
      ['101-1', '2019 Honda'],
      ['101-2', 'vehicle 2'],
      ['102-1', 'Ford'],
    ])
  })

  it('include every id that occurs in any row', async () => {
    const warehouse = await fresh(kind)
    const at = '2026-01-05T10:00:00.000000Z'
    const row = { updated_at: at, _synced_at: at }
    await warehouse.db
      .insertInto('appointments')
      .values([
        { tenant_id: 101, id: 1, ...row, shop_id: 7, staff_id: null },
        { tenant_id: 102, id: 1, ...row, shop_id: 7, staff_id: 3, _deleted_at: at },
      ])
      .execute()
    await warehouse.db
      .insertInto('tenants')
      .values([{ tenant_id: 101 }, { tenant_id: 102, revoked_at: at }] as never)
      .execute()
    const invoice = { _synced_at: at, shop_id: 7, state: 'invoice', _deleted_at: null }
    const totals = [
      { ...invoice, tenant_id: 101, repair_order_id: 1, closed_on: '2026-01-06' },
      { ...invoice, tenant_id: 101, repair_order_id: 2, closed_on: '2026-01-04' },
      { ...invoice, tenant_id: 101, repair_order_id: 3, closed_on: '2026-01-02', _deleted_at: at },
      { ...invoice, tenant_id: 101, repair_order_id: 4, closed_on: '2026-01-01', state: 'estimate' },
      { ...invoice, tenant_id: 101, repair_order_id: 5, closed_on: null },
      { ...invoice, tenant_id: 102, repair_order_id: 1, closed_on: '2025-12-31', shop_id: 9 },
    ]
    await warehouse.db
      .insertInto('repair_order_totals' as 'tenants')
      .values(
        totals.map((row) => ({
          ...row,
          repair_order_key: `${row.tenant_id}-${row.repair_order_id}`,
        })) as never,
      )
      .execute()
    await prepareViews(warehouse, { shopTimeZones: { '102/7': 'Europe/Berlin' } })
    const rowsOf = async (view: string, columns: string, rest: string) =>
      (await ask(warehouse, view, `select ${columns} from {view} ${rest}`)).map((row) => Object.values(row))
    expect(await rowsOf('dim_tenants', 'tenant_id, first_day, is_revoked', 'order by tenant_id')).toEqual([
      [101, '2026-01-04', false],
      [102, '2025-12-31', true],
    ])
    const columns = 'shop_key, shop_name, time_zone, is_deleted, first_day, is_revoked'
    expect(await rowsOf('dim_shops', columns, 'where shop_id = 7 order by shop_key')).toEqual([
      ['101-7', 'shop 7', 'UTC', false, '2026-01-04', false],
      ['102-7', 'shop 7', 'Europe/Berlin', false, null, true],
    ])
    expect(await rowsOf('dim_staffs', 'staff_key, staff_name', '')).toEqual([['102-3', 'staff 3']])
  })
})

describe('in Postgres', () => {
  const [kind] = bothWarehouses().filter(({ name }) => name === 'postgres')
  const warehouseOf = (): Promise<Warehouse> => fresh(kind as Kind)

  const schemaOf = (warehouse: Warehouse): string => warehouse.dialect.views().where

  it('keep their grants and comments when they are made again', async () => {
    const warehouse = await warehouseOf()
    await make(warehouse)
    const schema = schemaOf(warehouse)
    const name = `r_${randomBytes(4).toString('hex')}`
    await run(warehouse, `create role ${name}`)
    await run(warehouse, `grant select on "${schema}".orders to ${name} with grant option`)
    await run(warehouse, `grant select (tenant_id) on "${schema}".orders to public`)
    const store = warehouse.dialect.views()
    const columns: WantedView['columns'] = [
      { name: 'other', kind: 'text', doc: "It's another." },
      { name: 'tenant_id', kind: 'id', doc: 'Tenant.' },
    ]
    const changed = {
      name: 'orders',
      doc: 'Other.',
      columns,
      query: "select cast('x' as text) as other, cast(1 as bigint) as tenant_id",
      keys: [],
    }
    const trouble = await warehouse.transaction((session) => store.make((one) => session.run(one), changed))
    expect(trouble).toBeUndefined()
    const rights = await query(
      warehouse,
      `select relacl::text as acl, (select attacl::text from pg_attribute where attrelid = c.oid and attname = 'tenant_id') as of_column, obj_description(c.oid) as doc from pg_class c where c.oid = '"${schema}".orders'::regclass`,
    )
    expect(rights).toMatchObject([{ doc: 'Other.', of_column: expect.stringContaining('=r/') }])
    expect(String(rights[0]?.acl)).toContain(`${name}=r*/`)
    // Columns that are only appended: the same view, with everything that depends on it.
    await run(warehouse, `create view "${schema}".mine as select other from "${schema}".orders`)
    const longer = [...columns, { name: 'more', kind: 'cents' as const, doc: 'More.' }]
    const appended = { ...changed, columns: longer, query: `${changed.query}, cast(5 as bigint) as more` }
    expect(
      await warehouse.transaction((session) => store.make((one) => session.run(one), appended)),
    ).toBeUndefined()
    expect(await query(warehouse, 'select * from {orders}')).toEqual([{ other: 'x', tenant_id: 1, more: 5 }])
  })

  it("stay as they were if a user's view depends on one whose columns have changed", async () => {
    const warehouse = await warehouseOf()
    await make(warehouse)
    const schema = schemaOf(warehouse)
    await run(warehouse, `create view "${schema}".mine as select state from "${schema}".orders`)
    const store = warehouse.dialect.views()
    const changed = {
      name: 'orders',
      doc: 'Other.',
      columns: [{ name: 'other', kind: 'text' as const, doc: 'Another.' }],
      query: "select cast('x' as text) as other",
      keys: [],
    }
    const trouble = await warehouse.transaction((session) => store.make((one) => session.run(one), changed))
    expect(trouble?.message).toContain(`${schema}.mine depends on it`)
    expect(trouble?.hint).toContain(`Drop ${schema}.mine`)
    expect(await query(warehouse, `select * from "${schema}".mine`)).toEqual([])
  })

  it("report one problem, without failing, if a table isn't as they need it", async () => {
    const warehouse = await warehouseOf()
    const table = `"${schemaOf(warehouse).replace(/_analytics$/, '')}".vendors`
    await run(warehouse, `alter table ${table} drop column shop_id`)
    const { made, troubles } = await make(warehouse)
    expect(made).toEqual([])
    expect(troubles).toMatchObject([{ message: expect.stringContaining('shop_id') }])
    await migrate(warehouse)
    expect((await make(warehouse)).troubles).toEqual([])
  })
})

/**
 * Makes the views once, makes them again if something has changed, and never at the cost of a user's own relations. Who may
 * make and read them in Postgres is in test/transcripts/grants.txt and test/features/grants.
 */
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { ask, declaredViews, make, prepareViews, query } from '../../support/harness/views.js'
import {
  bothWarehouses,
  migrate,
  open,
  readMeta,
  rewriteRows,
  storeMeta,
  type WantedView,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

const at = '2026-01-05T10:00:00.000000Z'
const row = { updated_at: at, _synced_at: at }

const run = async (warehouse: Warehouse, text: string): Promise<void> =>
  void (await sql.raw(text).execute(warehouse.db))

describe.each(bothWarehouses())('in $name, the views', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  const onPostgres = it.runIf(kind.name === 'postgres')
  const nothing = { made: [], troubles: [] }
  /** Each test leaves all views as they are declared. */
  let warehouse: Warehouse
  let store: ReturnType<Warehouse['dialect']['views']>
  let whole: Awaited<ReturnType<typeof make>>
  beforeAll(async () => {
    warehouse = await open(kind)
    store = warehouse.dialect.views()
    whole = await make(warehouse)
  })
  afterAll(() => warehouse.close())

  /** Makes the view of orders with other columns. */
  const makeOrders = (columns: WantedView['columns'], text: string) =>
    warehouse.transaction((session) =>
      store.make((one) => session.run(one), {
        name: 'orders',
        doc: 'Other.',
        columns,
        query: text,
        keys: [],
      }),
    )

  it('are made once, and again if one is gone or the configuration changes', async () => {
    expect(whole.troubles).toEqual([])
    expect(whole.made).toContainEqual({ table: 'orders', what: 'create view' })
    expect(await make(warehouse)).toEqual(nothing)
    await run(warehouse, `drop view ${store.relation('receivables')}`)
    expect((await make(warehouse)).made).toEqual([{ table: 'receivables', what: 'create view' }])
    const { made } = await make(warehouse, { unlisted: 'leave out' })
    expect(made).toContainEqual({ table: 'purchases', what: 'replace view' })
    expect(made).not.toContainEqual({ table: 'dim_staffs', what: 'replace view' })
    expect((await make(warehouse)).made).toEqual(made)
  })

  it('of 0.3.0 are all made again, with equal texts: what they call was bound when they were made', async () => {
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
    expect(again.made).toHaveLength(whole.made.length)
    if (kind.name === 'postgres') {
      expect(Number((await bound())[0]?.oldest)).toBeGreaterThan(Number(before?.oldest))
      expect(await strange()).toEqual([])
    }
    expect(await make(warehouse)).toEqual(nothing)
  })

  test('are compared with their declarations again if what they are made from has changed, or one is gone', async () => {
    const remembered = async () => {
      const views = JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
      return views[' inputs']?.wanted
    }
    expect(await make(warehouse, { inputs: 'a' })).toEqual(nothing)
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
    await run(warehouse, `drop table ${store.relation('receivables')}`)
    await make(warehouse)
  })

  it("leave a user's view of the same name alone, and report it", async () => {
    for (const view of ['orders', 'order_lines']) await run(warehouse, `drop view ${store.relation(view)}`)
    // As where it has never been made.
    const { orders: _, ...others } = JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
    await warehouse.write([storeMeta(warehouse.db, store.memory, JSON.stringify(others))])
    await run(warehouse, `create view ${store.relation('orders')} as select 1 as mine`)
    const { made, troubles } = await make(warehouse)
    expect(troubles).toMatchObject([{ message: expect.stringContaining('The view orders was not made') }])
    expect(made).toEqual([{ table: 'order_lines', what: 'create view' }])
    expect(await query(warehouse, 'select * from {orders}')).toEqual([{ mine: 1 }])
    await run(warehouse, `drop view ${store.relation('orders')}`)
    expect((await make(warehouse)).made).toEqual([{ table: 'orders', what: 'create view' }])
  })

  it('wait for names that a program before has not stored', async () => {
    await warehouse.db.deleteFrom('sync_meta').where('name', '=', 'names').execute()
    await run(warehouse, `drop view ${store.relation('dim_vehicles')}`)
    expect(await make(warehouse)).toEqual({ ...nothing, isPostponed: true })
    await rewriteRows(warehouse, new AbortController().signal)
    expect((await make(warehouse)).made).toEqual([{ table: 'dim_vehicles', what: 'create view' }])
  })

  it('include every id that occurs in any row', async () => {
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
    const totals = [
      { tenant_id: 101, repair_order_id: 1, closed_on: '2026-01-06' },
      { tenant_id: 101, repair_order_id: 2, closed_on: '2026-01-04' },
      { tenant_id: 101, repair_order_id: 3, closed_on: '2026-01-02', _deleted_at: at },
      { tenant_id: 101, repair_order_id: 4, closed_on: '2026-01-01', state: 'estimate' },
      { tenant_id: 101, repair_order_id: 5, closed_on: null },
      { tenant_id: 102, repair_order_id: 1, closed_on: '2025-12-31', shop_id: 9 },
    ].map((one) => {
      const repair_order_key = `${one.tenant_id}-${one.repair_order_id}`
      return { _synced_at: at, shop_id: 7, state: 'invoice', _deleted_at: null, repair_order_key, ...one }
    })
    await warehouse.db
      .insertInto('repair_order_totals' as 'tenants')
      .values(totals as never)
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

  onPostgres("stay as they were if a user's view depends on one whose columns have changed", async () => {
    const mine = `"${store.where}".mine`
    await run(warehouse, `create view ${mine} as select state from ${store.relation('orders')}`)
    const columns = [{ name: 'other', kind: 'text' as const, doc: 'Another.' }]
    const trouble = await makeOrders(columns, "select cast('x' as text) as other")
    expect(trouble?.message).toContain(`${store.where}.mine depends on it`)
    expect(trouble?.hint).toContain(`Drop ${store.where}.mine`)
    expect(await query(warehouse, `select * from ${mine}`)).toContainEqual({ state: 'invoice' })
    await run(warehouse, `drop view ${mine}`)
  })

  onPostgres('keep their grants and comments when they are made again', async () => {
    const orders = store.relation('orders')
    const role = `r_${randomBytes(4).toString('hex')}`
    await run(warehouse, `create role ${role}`)
    await run(warehouse, `grant select on ${orders} to ${role} with grant option`)
    await run(warehouse, `grant select (tenant_id) on ${orders} to public`)
    const columns: WantedView['columns'] = [
      { name: 'other', kind: 'text', doc: "It's another." },
      { name: 'tenant_id', kind: 'id', doc: 'Tenant.' },
    ]
    const text = "select cast('x' as text) as other, cast(1 as bigint) as tenant_id"
    expect(await makeOrders(columns, text)).toBeUndefined()
    const [rights] = await query(
      warehouse,
      `select relacl::text as acl, obj_description(c.oid) as doc,
        (select attacl::text from pg_attribute where attrelid = c.oid and attname = 'tenant_id') as of_column
      from pg_class c where c.oid = '${orders}'::regclass`,
    )
    expect(rights).toMatchObject({ doc: 'Other.', of_column: expect.stringContaining('=r/') })
    expect(rights?.acl).toContain(`${role}=r*/`)
    // Columns that are only appended: the same view, with everything that depends on it.
    await run(warehouse, `create view "${store.where}".mine as select other from ${orders}`)
    const longer = [...columns, { name: 'more', kind: 'cents' as const, doc: 'More.' }]
    expect(await makeOrders(longer, `${text}, cast(5 as bigint) as more`)).toBeUndefined()
    expect(await query(warehouse, 'select * from {orders}')).toEqual([{ other: 'x', tenant_id: 1, more: 5 }])
  })

  onPostgres("report one problem, without failing, if a table isn't as they need it", async () => {
    const warehouse = await open(kind)
    const tables = warehouse.dialect.views()
    await run(warehouse, `alter table ${tables.sql.table('vendors')} drop column shop_id`)
    const { made, troubles } = await make(warehouse)
    expect(made).toEqual([])
    expect(troubles).toMatchObject([{ message: expect.stringContaining('shop_id') }])
    await migrate(warehouse)
    expect((await make(warehouse)).troubles).toEqual([])
    await warehouse.close()
  })
})

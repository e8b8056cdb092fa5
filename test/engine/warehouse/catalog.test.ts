/** Postgres: what its catalog has of our tables, for people and for its planner. */
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { bothWarehouses, open, reopen } from '../../support/harness/warehouse.js'

const [, postgres] = bothWarehouses()

it('a migration writes every text of the dictionary', async () => {
  const warehouse = await open(postgres!)
  const { db, tables } = warehouse
  const { rows } = await sql<{ place: string; doc: string | null }>`
    select c.relname || '.' || a.attname as place, col_description(c.oid, a.attnum) as doc
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'shopsync'::regnamespace and c.relkind = 'r'
    union all
    select c.relname || '.*', obj_description(c.oid)
    from pg_class c where c.relnamespace = 'shopsync'::regnamespace and c.relkind = 'r'`.execute(db)
  const declared = tables.flatMap(({ name, doc, grain, columns }) => [
    [`${name}.*`, `${doc} Grain: ${grain}.`],
    ...columns.map((column) => [`${name}.${column.name}`, column.doc]),
  ])
  expect(Object.fromEntries(rows.map(({ place, doc }) => [place, doc]))).toEqual(Object.fromEntries(declared))
})

it('makes statistics of the columns by which rows are found, and leaves the rest to the server', async () => {
  const address = await postgres!.migrated()
  const warehouse = await reopen(address)
  const customers = known.byName.get('customers')!
  const records = Array.from({ length: 500 }, (_, i) => ({
    id: i + 1,
    updated_at: `2026-01-01T00:00:00.${String(i).padStart(6, '0')}Z`,
    first_name: `name ${i % 7}`,
  }))
  const key = { tenantId: 7, resource: 'customers' }
  const page = warehouse.encode(customers.flatten(7, records, false), key)
  await warehouse.apply({ ...key, page, syncedAt: '2026-01-02T00:00:00.000000Z', statements: [] })
  await warehouse.dialect.bulk.optimize(customers.tables)
  // The server learns what a connection has counted at the latest when that ends.
  await warehouse.close()
  const again = await reopen(address)
  const columns = await sql<{ name: string }>`
    select attname as name from pg_stats where schemaname = 'shopsync' and tablename = 'customers'`.execute(
    again.db,
  )
  // State has few values: a condition on it picks more rows than the server would guess.
  const counted = ['_deleted_at', '_unlisted_at', 'id', 'state', 'tenant_id', 'updated_at']
  expect(columns.rows.map(({ name }) => name).sort()).toEqual(counted)
  const { rows } = await sql<{ left: number; rows: number }>`
    select s.n_mod_since_analyze::float8 as left, c.reltuples::float8 as rows from pg_stat_user_tables s
    join pg_class c on c.oid = s.relid where s.schemaname = 'shopsync' and s.relname = 'customers'`.execute(
    again.db,
  )
  expect(rows).toEqual([{ left: 500, rows: 500 }])
})

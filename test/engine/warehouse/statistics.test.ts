import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { model } from '../../support/harness/model.js'
import { bothWarehouses, openAt } from '../../support/harness/warehouse.js'

const known = model(resources)
const customers = known.byName.get('customers')!
const [, postgres] = bothWarehouses()

it('makes statistics of the columns by which rows are found, and leaves the rest to the server', async () => {
  const address = postgres!.address()
  const warehouse = await openAt(address, known)
  const records = Array.from({ length: 500 }, (_, i) => ({
    id: i + 1,
    updated_at: `2026-01-01T00:00:00.${String(i).padStart(6, '0')}Z`,
    first_name: `name ${i % 7}`,
  }))
  await warehouse.apply({
    tenantId: 7,
    resource: 'customers',
    page: warehouse.encode(customers.flatten(7, records, false), { tenantId: 7, resource: 'customers' }),
    syncedAt: '2026-01-02T00:00:00.000000Z',
    statements: [],
  })
  await warehouse.dialect.bulk.optimize(customers.tables)
  // The server learns what a connection has counted at the latest when that ends.
  await warehouse.close()
  const again = await openAt(address, known)
  const columns = await sql<{ name: string }>`
    select attname as name from pg_stats where schemaname = ${address.schema} and tablename = 'customers'`.execute(
    again.db,
  )
  expect(columns.rows.map(({ name }) => name).sort()).toEqual([
    '_deleted_at',
    '_unlisted_at',
    'id',
    // One of a few values: a condition on it picks more rows than the server would guess.
    'state',
    'tenant_id',
    'updated_at',
  ])
  const counted = await sql<{ left: number; rows: number }>`
    select s.n_mod_since_analyze::float8 as left, c.reltuples::float8 as rows from pg_stat_user_tables s
    join pg_class c on c.oid = s.relid where s.schemaname = ${address.schema} and s.relname = 'customers'`.execute(
    again.db,
  )
  expect(counted.rows).toEqual([{ left: 500, rows: 500 }])
  await again.close()
})

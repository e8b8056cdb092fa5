/** Fills a warehouse, whose tables and views were made, with the generated business. */
import { sql } from 'kysely'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { counters, dayRows, insertOf, tenants } from './fill.js'
import { fillings } from './tables.js'

export const run = async (warehouse: Warehouse, text: string): Promise<unknown> =>
  (await sql.raw(text).execute(warehouse.db)).rows

/** `orders`: of each tenant. Returns the number of rows. */
export async function fill(warehouse: Warehouse, orders: number): Promise<number> {
  for (const text of [...counters(orders), dayRows(Date.now())]) await run(warehouse, text)
  const isSqlite = warehouse.where.startsWith('sqlite:')
  const spelling = { instant: (text: string) => (isSqlite ? `(${text})` : `(${text})::timestamptz`) }
  const all = fillings(orders, spelling)
  const { table } = warehouse.dialect.views().sql
  await run(warehouse, `insert into ${table('tenants')} (tenant_id) select t from bench_tenants`)
  for (const one of all) await run(warehouse, insertOf(one, table(one.table)))
  return all.reduce((sum, { rows }) => sum + rows * tenants, 0)
}

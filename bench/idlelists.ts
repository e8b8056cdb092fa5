/** A warehouse with many idle lists, filled by SQL. The authorizations are a day old. */
import { sql } from 'kysely'
import { resources } from '../schema/index.js'
import type { Warehouse } from '../src/engine/warehouse/warehouse.js'
import { model } from '../test/support/harness/model.js'

const names = model(resources)
  .list.filter(({ resource }) => resource.scope === 'tenant')
  .map(({ name }) => name)

const ago = (hours: number): string =>
  new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z')

/** How many kinds of lists there are: they differ in how often they change and when they were polled. */
const kinds = 97

/** All lists of tenants 1 to this number, as if runs had polled them for months without finding anything. */
export async function fillIdle(warehouse: Warehouse, tenants: number): Promise<void> {
  const { db } = warehouse
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(db)
  const { table } = warehouse.dialect.views().sql
  const [inKinds, inResources, inTenants] = ['bench_kinds', 'bench_resources', 'bench_tenants'].map(table)
  const kindRows = Array.from({ length: kinds }, (_, kind) => {
    const hours = 0.3 + (kind * 5.5) / kinds
    return `(${kind}, '${ago(hours)}', '${ago(hours + 20)}', ${((kind * 13) % 40) / 10})`
  })
  await run(`create table ${inKinds} (kind integer, polled text, checked text, news double precision)`)
  await run(`insert into ${inKinds} values ${kindRows.join(', ')}`)
  await run(`create table ${inResources} (place integer, name text)`)
  await run(`insert into ${inResources} values ${names.map((name, i) => `(${i}, '${name}')`).join(', ')}`)
  await run(`create table ${inTenants} (t integer)`)
  await run(
    `insert into ${inTenants} with recursive n (i) as (select 1 union all select i + 1 from n where i < ${tenants}) select i from n`,
  )
  const timestamp = warehouse.dialect.sql.columnType('timestamp')
  const stamp = (column: string): string => `cast(${column} as ${timestamp})`
  await run(
    `insert into ${table('tenants')} (tenant_id, _synced_at) select t, ${stamp(`'${ago(24)}'`)} from ${inTenants}`,
  )
  const polled = [
    ...['polled_at', 'walked_at', 'last_success_at', 'complete_through', 'watermark'],
    ...['planned_watermark', 'quiet_since'],
  ]
  await run(
    `insert into ${table('sync_cursors')} (tenant_id, resource, status, completeness, deletes_checked_at, news, news_unannounced, news_hours, ${polled.join(', ')})
     select t, name, 'ok', 'proven', ${stamp('checked')}, news, news, 160, ${polled.map(() => stamp('polled')).join(', ')}
     from ${inTenants} cross join ${inResources} join ${inKinds} on kind = (t * 31 + place * 17) % ${kinds}`,
  )
  for (const name of [inKinds, inResources, inTenants]) await run(`drop table ${name}`)
}

/**
 * Stores today's state of each shop in `daily_snapshots`: the API keeps no history, and what isn't stored now can never
 * be charted. A second snapshot on the same day replaces the first. Used by the command and by jobs.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { snapshotColumns, snapshotQuery } from '../../../schema/snapshot.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type ViewSettings, viewWords, withTables } from '../analytics/viewwords.js'

const table = 'daily_snapshots'
const key: readonly string[] = ['tenant_id', 'shop_id', 'day']

/** Returns for how many shops a row was written. */
export async function writeSnapshot(
  warehouse: Warehouse,
  options: ViewSettings & {
    /** null: all. */
    readonly tenants: readonly Int64[] | null
  },
): Promise<number> {
  const words = warehouse.dialect.views().sql
  const query = withTables(snapshotQuery(viewWords(words, options)), words, options)
  const columns = snapshotColumns.map((name) => sql.ref(name))
  const fresh = snapshotColumns.filter((name) => !key.includes(name))
  const { tenants } = options
  const chosen = tenants === null ? sql`true` : sql`snapshot.tenant_id in (${sql.join(tenants)})`
  const statement = sql`insert into ${sql.raw(words.table(table))} (${sql.join(columns)})
    select ${sql.join(columns)} from (${sql.raw(query)}) as snapshot where ${chosen}
    on conflict (${sql.join(key.map((name) => sql.ref(name)))})
    do update set ${sql.join(fresh.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`))}`
  return warehouse.write([statement.compile(warehouse.db)])
}

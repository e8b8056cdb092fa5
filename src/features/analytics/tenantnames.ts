/** Names of tenants, kept in `report_tenants` as the configuration says, so that views can show them. */
import { exact } from '../../engine/base/int64.js'
import type { DialectWriter } from '../../engine/warehouse/leasedwarehouse.js'
import { withAnalytics } from './tables.js'

/** Only differences are written. */
export async function refreshTenantNames(
  warehouse: DialectWriter,
  tenantNames: Readonly<Record<string, string>>,
): Promise<void> {
  const rows = await warehouse.read((db) =>
    withAnalytics(db).selectFrom('report_tenants').selectAll().execute(),
  )
  const before = new Map(rows.map(({ tenant_id, name }) => [String(tenant_id), name]))
  const { db } = warehouse
  const gone = rows.filter(({ tenant_id }) => !Object.hasOwn(tenantNames, String(tenant_id)))
  const differing = Object.entries(tenantNames).filter(([tenant, name]) => before.get(tenant) !== name)
  if (gone.length + differing.length === 0) return
  await warehouse.write([
    ...gone.map(({ tenant_id }) =>
      withAnalytics(db).deleteFrom('report_tenants').where('tenant_id', '=', tenant_id).compile(),
    ),
    ...differing.map(([tenant, name]) =>
      withAnalytics(db)
        .insertInto('report_tenants')
        .values({ tenant_id: exact(BigInt(tenant)), name })
        .onConflict((c) => c.column('tenant_id').doUpdateSet({ name }))
        .compile(),
    ),
  ])
}

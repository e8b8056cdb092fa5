/**
 * Updates what the views depend on: zones, calendar, tenant names. Runs do this when they start, since the
 * configuration may have changed, and when they end, since new shops may have arrived. So does `migrate`.
 */
import { describeError, Skip } from '../../engine/base/errors.js'
import { exact } from '../../engine/base/int64.js'
import { type ReportConfig, reportSettings } from '../../engine/config/reportsection.js'
import type { Writing } from '../../engine/run/runcontext.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import { refreshCalendar } from './calendar.js'
import { withAnalytics } from './tables.js'
import { refreshZones, type ZonesNow } from './zones.js'

interface Refreshing {
  readonly warehouse: Writer
  readonly report: Pick<ReportConfig, 'timeZone' | 'shopTimeZones' | 'tenantNames'>
  readonly nowMicros: () => bigint
}

/** A few short queries if nothing has changed, and no request. */
export async function refreshAnalytics(refreshing: Refreshing): Promise<ZonesNow> {
  const { warehouse, report, nowMicros } = refreshing
  const zones = await refreshZones(warehouse, report)
  const names = new Set(zones.zones.map(({ zone }) => zone))
  await refreshCalendar(warehouse, names, report.timeZone, nowMicros())
  await refreshTenantNames(warehouse, report.tenantNames)
  return zones
}

/**
 * Does it for a run. If a table can't be written, the rows are not affected: it is reported, and the next run tries
 * again.
 */
export async function refreshBesideRows({ config, warehouse, clock, observer }: Writing): Promise<void> {
  const report = reportSettings(config)
  const nowMicros = (): bigint => clock.nowMicros()
  try {
    const { changed } = await refreshAnalytics({ warehouse, report, nowMicros })
    for (const { tenantId, shopId, origin } of changed)
      if (origin === 'unknown')
        observer.warning?.('A shop has a time zone that nobody knows; report.timeZone holds there', {
          tenant_id: tenantId,
          shop_id: shopId,
          hint: `Set report.shopTimeZones: {"${tenantId}/${shopId}": "America/Chicago"}`,
        })
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    observer.warning?.('Days and zones for analysts are not up to date', { error: describeError(error) })
  }
}

/** Writes only differences. */
async function refreshTenantNames(
  warehouse: Writer,
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

/**
 * Brings what the views rest on up to date: zones, calendar, names of tenants. Runs do so when they begin, since the
 * configuration may have changed, and when they end, since shops may have come; so does `migrate`.
 */
import type { ReportConfig } from '../../engine/config/config.js'
import type { Model } from '../../engine/model/registry.js'
import type { DialectWriter } from '../../engine/warehouse/leasedwarehouse.js'
import { refreshCalendar } from './calendar.js'
import { refreshTenantNames } from './tenantnames.js'
import { refreshZones, type ZonesNow } from './zones.js'

export interface Refreshing {
  readonly warehouse: DialectWriter
  readonly model: Model
  readonly report: Pick<ReportConfig, 'timeZone' | 'shopTimeZones' | 'tenantNames'>
  readonly nowMicros: () => bigint
  /** The run's lease. */
}

/** A few short queries where nothing has changed, and no request. */
export async function refreshAnalytics(refreshing: Refreshing): Promise<ZonesNow> {
  const { warehouse, model, report, nowMicros } = refreshing
  const zones = await refreshZones(warehouse, model, report)
  const names = new Set(zones.zones.map(({ zone }) => zone))
  await refreshCalendar(warehouse, names, nowMicros())
  await refreshTenantNames(warehouse, report.tenantNames)
  return zones
}

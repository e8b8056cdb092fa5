/*
 * Incidents as people see them. Used by status, the report and the metrics, and by alert messages
 * (src/features/health/alerttext.ts).
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Db } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type AlertRow, openIncidentRows } from './sql.js'

/** An entry of `incidents` in the document of `shopsync status` and in the body of an alert. */
export interface ToldIncident {
  readonly kind: string
  /** null: the whole run. */
  readonly tenant_id: Int64 | null
  /** null: all resources. */
  readonly resource: string | null
  readonly since: string
  readonly message: string
  readonly advice: string
}

/** What sync_alerts stores about it. */
export type KeptIncident = Pick<AlertRow, 'kind' | 'tenant_id' | 'resource' | 'since' | 'message' | 'advice'>

export const toldIncident = (kept: KeptIncident): ToldIncident => ({
  kind: kept.kind,
  tenant_id: kept.tenant_id === 0 ? null : kept.tenant_id,
  resource: kept.resource === '' ? null : kept.resource,
  since: kept.since,
  message: kept.message ?? '',
  advice: kept.advice ?? '',
})

/** null: all. */
interface Chosen {
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
}

/**
 * Open incidents of the chosen tenants and resources, oldest first. Incidents of the whole run are always included.
 * `status`, the report, `/ready` and the metrics all use this: while it isn't empty, none of them reports that all is
 * well.
 */
export async function openIncidents(
  warehouse: Pick<Warehouse, 'has'>,
  db: Db,
  { tenants, resources }: Chosen = { tenants: null, resources: null },
): Promise<ToldIncident[]> {
  // No run of this version has written to this warehouse yet.
  if (!(await warehouse.has('sync_alerts'))) return []
  const rows = await openIncidentRows(db)
  return rows
    .filter(({ tenant_id }) => tenant_id === 0 || (tenants?.includes(tenant_id) ?? true))
    .filter(({ resource }) => resource === '' || (resources?.includes(resource) ?? true))
    .map(toldIncident)
}

/*
 * Incidents as people are told of them. Used by status, the report and the metrics, and by the messages of alerts
 * (src/features/alerts/alerttext.ts).
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Db } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type AlertRow, openIncidentRows } from './sql.js'

/** An entry of `incidents`, in the document of `shopsync status` and in the body of an alert. */
export interface ToldIncident {
  readonly kind: string
  /** null: of the whole run. */
  readonly tenant_id: Int64 | null
  /** null: of all resources. */
  readonly resource: string | null
  readonly since: string
  readonly message: string
  readonly advice: string
}

/** What sync_alerts has of it. */
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
 * What is open of the chosen tenants and resources, the oldest first. What concerns the whole run is everybody's. The one
 * answer of `status`, the report, `/ready` and the metrics: while it is not empty, none of them says that all is well.
 */
export async function openIncidents(
  warehouse: Pick<Warehouse, 'has'>,
  db: Db,
  { tenants, resources }: Chosen = { tenants: null, resources: null },
): Promise<ToldIncident[]> {
  // A warehouse that no run of this version has written to.
  if (!(await warehouse.has('sync_alerts'))) return []
  const rows = await openIncidentRows(db)
  return rows
    .filter(({ tenant_id }) => tenant_id === 0 || (tenants?.includes(tenant_id) ?? true))
    .filter(({ resource }) => resource === '' || (resources?.includes(resource) ?? true))
    .map(toldIncident)
}

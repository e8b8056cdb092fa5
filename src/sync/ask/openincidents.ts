/* What somebody was to be told of and is not over, as alerts keep it. Used by `shopsync status`. */
import type { Int64 } from '../../../schema/resource.js'
import { openIncidentRows } from '../../warehouse/alerts.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import type { CursorChoice } from '../run/report.js'

/** An entry of `incidents` in the document of `shopsync status`. */
export interface OpenIncident {
  readonly kind: string
  /** null: of the whole run. */
  readonly tenant_id: Int64 | null
  /** null: of all resources. */
  readonly resource: string | null
  readonly since: string
  readonly message: string
  readonly advice: string
}

/** What is open of the chosen tenants and resources, the oldest first. What concerns the whole run is everybody's. */
export async function openIncidents(
  warehouse: Warehouse,
  { tenants, resources }: CursorChoice,
): Promise<OpenIncident[]> {
  // A warehouse that no run of this version has written to.
  if (!(await warehouse.has('sync_alerts'))) return []
  const rows = await openIncidentRows(warehouse)
  return rows
    .filter(({ tenant_id }) => tenant_id === 0 || (tenants?.includes(tenant_id) ?? true))
    .filter(({ resource }) => resource === '' || (resources?.includes(resource) ?? true))
    .map(({ kind, tenant_id, resource, since, message, advice }) => ({
      kind,
      tenant_id: tenant_id === 0 ? null : tenant_id,
      resource: resource === '' ? null : resource,
      since,
      message: message ?? '',
      advice: advice ?? '',
    }))
}

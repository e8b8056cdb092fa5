/*
 * Incidents as people see them. Used by status, the report and the metrics, and by alert messages
 * (src/features/health/alerttext.ts).
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Db } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { isSuspicion } from './alertsettings.js'
import type { Incident } from './incident.js'
import { openIncidentRows } from './sql.js'

/** The part of an incident that people see. */
export const toldIncident = (incident: Incident): Incident => {
  const { kind, tenant_id, resource, shard, since, message, advice } = incident
  return { kind, tenant_id, resource, shard: shard ?? undefined, since, message, advice }
}

/**
 * Open incidents of the chosen tenants and resources, oldest first. Incidents of the whole run are always included;
 * suspicions never are: `status` shows quiet lists, reported or not (quietlists.ts).
 * `status`, the report, `/ready` and the metrics all use this: while it isn't empty, none of them reports that all is
 * well.
 */
export async function openIncidents(
  warehouse: Pick<Warehouse, 'has'>,
  db: Db,
  {
    tenants,
    resources,
  }: {
    /** null: all. */
    readonly tenants: readonly Int64[] | null
    readonly resources: readonly string[] | null
  } = {
    tenants: null,
    resources: null,
  },
): Promise<Incident[]> {
  // No run of this version has written to this warehouse yet.
  if (!(await warehouse.has('sync_alerts'))) return []
  const rows = await openIncidentRows(db)
  return rows
    .filter(({ kind }) => !isSuspicion(kind))
    .filter(({ tenant_id }) => tenant_id === null || (tenants?.includes(tenant_id) ?? true))
    .filter(({ resource }) => resource === null || (resources?.includes(resource) ?? true))
    .map(toldIncident)
}

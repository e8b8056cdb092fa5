/*
 * Which cursors events may make due: those of granted and selected tenants and of selected resources that the source
 * offers. Every run and turn reads this again, since all of it may change.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Config } from '../../engine/config/config.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { chooseResources } from '../../engine/run/choosecursors.js'
import { type CursorKey, cursorName, listCursors, rowName } from '../../engine/warehouse/state/cursors.js'
import { knownTenants } from '../../engine/warehouse/state/tenants.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

export interface SyncedCursors {
  readonly tenants: ReadonlySet<Int64>
  readonly resources: ReadonlyMap<string, ResourceModel>
  /** See `readUnavailable`. */
  readonly unavailable: ReadonlySet<string>
}

export async function readSynced(config: Pick<Config, 'sync'>, warehouse: Warehouse): Promise<SyncedCursors> {
  const { tenants: chosen, exceptTenants } = config.sync
  const known = await knownTenants(warehouse)
  const granted = known.flatMap(({ tenantId, revokedAt }) => (revokedAt === null ? [tenantId] : []))
  const isChosen = (id: Int64): boolean =>
    (chosen === 'all' || chosen.includes(id)) && !exceptTenants.includes(id)
  const resources = chooseResources({ config, warehouse }, { tenants: null, resources: null })
  return {
    tenants: new Set(granted.filter(isChosen)),
    resources: new Map(resources.map((resource) => [resource.name, resource])),
    unavailable: await readUnavailable(warehouse),
  }
}

/** The cursors that the source doesn't offer, by tenant and resource. */
export async function readUnavailable(warehouse: Warehouse): Promise<ReadonlySet<string>> {
  const rows = await listCursors(warehouse, [], { where: (eb) => eb('status', '=', 'unavailable') })
  return new Set(rows.map(rowName))
}

/** The resource of a cursor that may be rung, or else why it may not. */
export function isSynced(
  { tenants, resources, unavailable }: SyncedCursors,
  key: CursorKey,
): { readonly resource?: ResourceModel; readonly reason?: string } {
  const resource = resources.get(key.resource)
  if (!tenants.has(key.tenantId)) return { reason: 'tenant_not_synced' }
  if (!resource) return { reason: 'resource_not_synced' }
  if (unavailable.has(cursorName(key))) return { reason: 'unavailable' }
  return { resource }
}

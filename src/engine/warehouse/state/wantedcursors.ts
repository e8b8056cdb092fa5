import type { Int64 } from '../../../../schema/resource.js'
import type { Db } from '../database.js'

/** The cursors that the configuration, or a choice among them, wants synced. */
export interface WantedCursors {
  readonly resources: readonly string[]
  /** null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  /** Tenants that are not walked. */
  readonly exceptTenants: readonly Int64[]
}

/** Cursors that should be synced: those of tenants that are granted and wanted. */
export function wantedCursors(db: Db, { resources, tenants, exceptTenants }: WantedCursors) {
  const granted = db.selectFrom('tenants').select('tenant_id').where('revoked_at', 'is', null)
  let cursors = db
    .selectFrom('sync_cursors')
    .where('tenant_id', 'in', granted)
    // SQL has no empty lists.
    .where('resource', 'in', ['', ...resources])
  if (tenants) cursors = cursors.where('tenant_id', 'in', [0, ...tenants])
  if (exceptTenants.length > 0) cursors = cursors.where('tenant_id', 'not in', [...exceptTenants])
  return cursors
}

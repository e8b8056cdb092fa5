import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../errors.js'
import type { Table } from '../../model/tables.js'
import { rememberForgotten } from '../../warehouse/tenants.js'
import { asWriter, type Dependencies, now } from '../run/context.js'

/** What was erased. */
export interface Forgotten {
  readonly tenant_id: Int64
  readonly rows: number
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
}

type Needs = Pick<Dependencies, 'warehouse' | 'model' | 'clock' | 'leaseMs'>

/**
 * Tables that say something of a tenant, in the order in which they are emptied: first what says how far its cursors
 * have come, so that an erasure that is cut short leaves nothing behind that a sync would take for complete; the tenant
 * itself last.
 */
function tablesInOrder({ warehouse, model }: Needs): Table[] {
  const resource = new Set(model.tables.map(({ name }) => name))
  const ofTenants = warehouse.tables.filter((table) => table.columns.some(({ name }) => name === 'tenant_id'))
  const rank = ({ name }: Table): number => (name === 'tenants' ? 2 : resource.has(name) ? 1 : 0)
  return ofTenants.toSorted((a, b) => rank(a) - rank(b))
}

/** Stops where the warehouse knows no such tenant. */
export async function checkTenant({ warehouse }: Pick<Needs, 'warehouse'>, tenantId: Int64): Promise<void> {
  const known = await warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())
  if (known.some(({ tenant_id }) => tenant_id === tenantId)) return
  throw new Stop(`The warehouse knows no tenant ${tenantId}`, {
    exitCode: 2,
    hint: `Expected one of ${known.map(({ tenant_id }) => tenant_id).join(', ') || 'none: it is empty'}`,
  })
}

/** Erases every row of one tenant, and all that is known of it. */
export async function forgetTenant(deps: Needs, tenantId: Int64): Promise<Forgotten> {
  await checkTenant(deps, tenantId)
  const { warehouse } = deps
  return asWriter(deps, 'forget', async ({ fence }) => {
    const tables: { table: string; rows: number }[] = []
    for (const { name } of tablesInOrder(deps)) {
      const gone = warehouse.db.deleteFrom(name as 'tenants').where('tenant_id', '=', tenantId)
      const rows = await warehouse.write([gone.compile()], fence)
      if (rows > 0) tables.push({ table: name, rows })
    }
    await warehouse.write([rememberForgotten(warehouse.db, now(deps))], fence)
    return { tenant_id: tenantId, rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables }
  })
}

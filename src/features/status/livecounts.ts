/*
 * How many live rows each cursor has, as its register tells: a warehouse of millions of rows answers at once. Rows are
 * counted only where no register knows. Used by status.ts; that registers are true to the rows is what `verify` checks.
 */
import type { Int64 } from '../../../schema/resource.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

interface Asked {
  readonly tenants: readonly { readonly tenant_id: Int64 }[]
  readonly resources: readonly string[]
  /** Tables that are not there yet. */
  readonly missing: ReadonlySet<string>
}

type LiveCount = (resource: string, tenantId: Int64) => Int64
type Db = Warehouse['db']

export async function readLiveRows(db: Db, { tenants, resources, missing }: Asked): Promise<LiveCount> {
  const counts = new Map(resources.map((name) => [name, new Map<Int64, Int64>()]))
  if (!missing.has('sync_registers')) await addRegisters(db, counts)
  for (const [resource, known] of counts) {
    const unknown = tenants.map(({ tenant_id }) => tenant_id).filter((id) => !known.has(id))
    if (unknown.length > 0 && !missing.has(resource)) await addCounted(db, resource, { unknown, known })
  }
  return (resource, tenantId) => counts.get(resource)?.get(tenantId) ?? 0
}

async function addRegisters(db: Db, counts: ReadonlyMap<string, Map<Int64, Int64>>): Promise<void> {
  const registers = await db
    .selectFrom('sync_registers')
    .select(['tenant_id', 'resource', 'live_rows'])
    .where('live_rows', 'is not', null)
    .execute()
  for (const { tenant_id, resource, live_rows } of registers)
    counts.get(resource)?.set(tenant_id, Number(live_rows))
}

/** One statement a table instead of one a cursor. */
async function addCounted(
  db: Db,
  resource: string,
  { unknown, known }: { readonly unknown: readonly Int64[]; readonly known: Map<Int64, Int64> },
): Promise<void> {
  const rows = await db
    .selectFrom(rootTable({ name: resource }))
    .select((e) => ['tenant_id', e.fn.countAll<Int64>().as('n')])
    .where('tenant_id', 'in', unknown)
    .where('_deleted_at', 'is', null)
    .groupBy('tenant_id')
    .execute()
  for (const { tenant_id, n } of rows) known.set(tenant_id, Number(n))
}

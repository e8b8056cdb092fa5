import { systemClock } from '../../src/engine/base/clock.js'
import type { Model } from '../../src/engine/model/resourcemodel.js'
import { known } from '../support/harness/runs.js'
import { openLease, recompute, type Warehouse } from '../support/harness/warehouse.js'

/** Empties the derived tables, the computed columns and their state, and recomputes them from the stored rows. */
export async function computeAnew(warehouse: Warehouse, model: Model = known): Promise<void> {
  const { db } = warehouse
  for (const { table } of model.list.flatMap(({ derived }) => derived))
    await db.deleteFrom(table.name as 'tenants').execute()
  for (const { name, columns } of model.tables) {
    const computed = columns.filter(({ computedBy }) => computedBy !== undefined)
    if (computed.length > 0)
      await db
        .updateTable(name as 'tenants')
        .set(Object.fromEntries(computed.map((column) => [column.name, null])))
        .execute()
  }
  await db.deleteFrom('sync_derived').execute()
  const stored = await db.selectFrom('repair_orders').select('tenant_id').distinct().execute()
  for (const { tenant_id } of stored)
    await db
      .insertInto('tenants')
      .values({ tenant_id } as never)
      .onConflict((c) => c.column('tenant_id').doNothing())
      .execute()
  await using lease = await openLease({ warehouse, clock: systemClock }, 'test')
  const at = (): string => '2026-02-01T00:00:00.000000Z'
  const { dialect, rules } = warehouse
  const held = lease.warehouse
  // Under a name that nobody has claimed, rows get the stamps of their records, as when they are first stored.
  const { interfered } = held
  const unstamped = { dialect, rules, interfered, leaseName: 'nobody', read: held.read.bind(held) }
  const transaction: Warehouse['transaction'] = (work) => held.transaction(work)
  await recompute({ ...unstamped, transaction }, model, { signal: lease.signal, at })
}

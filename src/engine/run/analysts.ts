/*
 * What a run keeps up to date for analysts besides the rows: the zones of shops, the calendar, the names of tenants, and
 * what follows from stored records.
 * When the run begins, since the configuration may have changed, and when it ends, since shops may have come.
 */
import type { Int64 } from '../../../schema/resource.js'
import { settleDerived } from './catchup.js'
import type { Writing } from './runcontext.js'

/** What follows from stored records is computed anew where the rules have changed. */
export async function beforeCursors(run: Writing): Promise<void> {
  await run.besideRows?.(run)
  await settleDerived(run)
}

/** Computes anew where a zone has come with the records. A run that is to end leaves that to the next one. */
export async function afterCursors(run: Writing): Promise<void> {
  await run.besideRows?.(run)
  if (run.signal.aborted) return
  await run.warehouse.learnRules()
  await settleDerived(run)
}

/** Takes a tenant's zones for its rules, and notes that it has no rows of other ones. */
export async function learnZones(run: Writing, tenantId: Int64): Promise<void> {
  const { warehouse } = run
  const before = warehouse.rules.textOf(tenantId)
  await warehouse.learnRules(tenantId)
  if (warehouse.rules.textOf(tenantId) !== before) await settleDerived(run)
}

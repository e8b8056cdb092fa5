/*
 * What a run keeps up to date for analysts besides the rows: the zones of shops, the calendar, the names of tenants, and
 * what follows from stored records.
 * When the run begins, since the configuration may have changed, and when it ends, since shops may have come.
 */
import { settleDerived } from './catchup.js'
import type { RunContext } from './runcontext.js'

/** What follows from stored records is computed anew where the rules have changed. */
export async function beforeCursors(context: RunContext): Promise<void> {
  await context.besideRows?.(context)
  await settleDerived(context)
}

/** Computes anew where a zone has come with the records. A run that is to end leaves that to the next one. */
export async function afterCursors(context: RunContext): Promise<void> {
  await context.besideRows?.(context)
  if (context.signal.aborted) return
  await context.warehouse.learnRules()
  await settleDerived(context)
}

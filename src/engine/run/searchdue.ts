import { type Memory, mostSearchedPages } from '../walk/memory.js'
import { rootOf } from './runcontext.js'
import type { WalkUnderWay } from './walkend.js'

/** Once a day a short list is searched for what it counts and does not show: one reading of all of it. */
export async function isSearchDue(
  { context, task, mode, startedAt }: WalkUnderWay,
  { surplus }: Memory,
): Promise<boolean> {
  if (mode === 'full' || !surplus || surplus.searchedOn === startedAt.slice(0, 10)) return false
  const rows = await context.warehouse.countRows(rootOf(task.resource), task.tenantId)
  return rows <= mostSearchedPages * 100
}

import { type Memory, mostSearchedPages } from '../walk/memory.js'
import type { WalkUnderWay } from './walkend.js'

/** Once a day a short list is searched for what it counts and does not show: one reading of all of it. */
export async function isSearchDue(
  { cursor, mode, startedAt }: WalkUnderWay,
  { surplus }: Memory,
): Promise<boolean> {
  if (mode === 'full' || !surplus || surplus.searchedOn === startedAt.slice(0, 10)) return false
  const rows = await cursor.warehouse.countRows(cursor.root, cursor.tenantId)
  return rows <= mostSearchedPages * 100
}

import type { RunContext } from '../run/context.js'
import type { CursorTask } from '../run/cursor.js'

/** What `why` may keep, in bytes a row on average, and what one row of `sync_requests` takes. */
const bytesARow = 16
const bytesARequest = 250
/** So many are always kept. */
const least = 16

/**
 * Forgets requests that brought few rows, the oldest first, so that what is kept for `why` stays small however often
 * single records change. What it can tell of their rows then is the run alone.
 */
export async function trimRequests(
  { warehouse, fence }: Pick<RunContext, 'warehouse' | 'fence'>,
  { tenantId, resource }: CursorTask,
  rows: number,
): Promise<void> {
  const kept = Math.max(least, Math.floor((rows * bytesARow) / bytesARequest))
  const { db } = warehouse
  const own = db
    .selectFrom('sync_requests')
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource.name)
  const surplus = own.select('synced_at').orderBy('rows_written', 'desc').orderBy('synced_at', 'desc')
  const found = await warehouse.read(() => surplus.offset(kept).limit(1_000_000).execute())
  for (let i = 0; i < found.length; i += 500) {
    const stamps = found.slice(i, i + 500).map((row) => row.synced_at)
    const gone = db
      .deleteFrom('sync_requests')
      .where('tenant_id', '=', tenantId)
      .where('synced_at', 'in', stamps)
    await warehouse.write([gone.compile()], fence)
  }
}

import { type CursorTask, keyOf } from '../../engine/run/tenant.js'
import { cursorColumns } from '../../engine/warehouse/cursors.js'
import type { Writer } from '../../engine/warehouse/writer.js'

/** Bytes of recorded requests that a row may cost on average, and the bytes of one recorded request. */
const bytesARow = 16
const bytesARequest = 250
/** As many requests are always kept. */
const least = 16

/**
 * Forgets requests of a cursor that brought few rows, the oldest first, so that the records for `why` stay small however
 * often single records change. Of the rows that such a request brought, `why` can then tell the run only.
 */
export async function trimRequests(warehouse: Writer, task: CursorTask, rows: number): Promise<void> {
  const kept = Math.max(least, Math.floor((rows * bytesARow) / bytesARequest))
  const { db } = warehouse
  const own = db.selectFrom('sync_requests').where((eb) => eb.and(cursorColumns(keyOf(task))))
  const surplus = own.select('synced_at').orderBy('rows_written', 'desc').orderBy('synced_at', 'desc')
  const found = await warehouse.read(() => surplus.offset(kept).limit(1_000_000).execute())
  for (let i = 0; i < found.length; i += 500) {
    const stamps = found.slice(i, i + 500).map((row) => row.synced_at)
    const gone = db
      .deleteFrom('sync_requests')
      .where('tenant_id', '=', task.tenantId)
      .where('synced_at', 'in', stamps)
    await warehouse.write([gone.compile()])
  }
}

/**
 * The lists that have to be read whole once (layout.ts), and how far the reading of each has come. Used by `status` and
 * the report.
 */
import type { Int64 } from '../../../schema/resource.js'
import { type Db, readJson } from './database.js'

export interface Refill {
  readonly tenant_id: Int64
  readonly resource: string
  readonly reason: string
  /** Records that were read, and how many the list had then; null where the reading has not begun. */
  readonly read: number | null
  readonly of: number | null
}

/** The part of a walk's progress that tells how far it is. */
interface Reached {
  readonly last: number
  /** Records that are still before it. */
  readonly below: number
}

/** All columns: the warehouse may be one of an older program, which lacks some. */
export async function readRefills(db: Db): Promise<Refill[]> {
  const rows = await db.selectFrom('sync_cursors').selectAll().where('refill', 'is not', null).execute()
  return rows.map(({ tenant_id, resource, refill, refill_walk }) => {
    const reached = readJson(refill_walk ?? null) as Reached | null
    return {
      tenant_id,
      resource,
      reason: refill ?? '',
      read: reached && Math.max(0, reached.last - reached.below),
      of: reached?.last ?? null,
    }
  })
}

/*
 * The table sync_lateness: how late records became visible, by resource and day. The walks and reconcile add to it; a
 * run and `status` read the last 30 days.
 */
import type { CompiledQuery } from 'kysely'
import { addMicros } from '../../base/timestamp.js'
import type { Db, Reader } from '../database.js'

/** `walk`: found by a walk, late or not. `reconcile`: found late, only by a comparison. */
type LatenessWay = 'walk' | 'reconcile'

/** Records that became visible at most `upToMs` late; 0: not late. */
export interface LatenessBucket {
  readonly upToMs: number
  readonly records: number
  readonly largestMicros: number
}

export interface LatenessRow extends LatenessBucket {
  readonly resource: string
  readonly way: LatenessWay
}

const monthMicros = 30n * 86_400_000_000n

/** The buckets of the last 30 days, separate for each day. */
export async function readLateness(warehouse: Reader, now: string): Promise<LatenessRow[]> {
  const since = addMicros(now, -monthMicros).slice(0, 10)
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_lateness').selectAll().where('day', '>=', since).execute(),
  )
  return rows.map((row) => ({
    resource: row.resource,
    way: row.way as LatenessWay,
    upToMs: Number(row.up_to_ms),
    records: Number(row.records),
    largestMicros: Number(row.largest_us),
  }))
}

/** Adds buckets to a day, always in the same order, so two cursors of a resource can't block each other. */
export function addLateness(
  db: Db,
  { resource, day, way }: { readonly resource: string; readonly day: string; readonly way: LatenessWay },
  buckets: readonly LatenessBucket[],
): CompiledQuery[] {
  if (buckets.length === 0) return []
  const rows = buckets
    .toSorted((a, b) => a.upToMs - b.upToMs)
    .map(({ upToMs, records, largestMicros }) => ({
      resource,
      day,
      way,
      up_to_ms: upToMs,
      records,
      largest_us: largestMicros,
    }))
  const added = db
    .insertInto('sync_lateness')
    .values(rows)
    .onConflict((c) =>
      c.columns(['resource', 'day', 'way', 'up_to_ms']).doUpdateSet((eb) => ({
        records: eb('sync_lateness.records', '+', eb.ref('excluded.records')),
        largest_us: eb
          .case()
          .when('excluded.largest_us', '>', eb.ref('sync_lateness.largest_us'))
          .then(eb.ref('excluded.largest_us'))
          .else(eb.ref('sync_lateness.largest_us'))
          .end(),
      })),
    )
    .compile()
  return [added]
}

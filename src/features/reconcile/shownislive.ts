/*
 * What a list shows has to be live here. A deletion mark that is dated ahead of every request made now would keep its
 * record away for good, and no count of a list of everything would say so.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { IdSet } from '../../engine/list/idset.js'
import { listedVersion } from '../../engine/warehouse/unlisted.js'
import type { Version } from '../../engine/warehouse/versionbatch.js'

interface ShownParts {
  readonly rows: { versions(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, Version>> }
  readonly repair: { revive(ids: readonly Int64[]): Promise<readonly Int64[]> }
}

const idsAtOnce = 1000

function* batches(ids: Iterable<Int64>): Generator<readonly Int64[]> {
  let batch: Int64[] = []
  for (const id of ids) {
    batch.push(id)
    if (batch.length < idsAtOnce) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Those without a row that the list should show. */
async function notLive(rows: ShownParts['rows'], ids: readonly Int64[]): Promise<readonly Int64[]> {
  const versions = await rows.versions(ids)
  return ids.filter((id) => listedVersion(versions.get(id)) === null)
}

/** Has the records fetched that a list shows and that have no live row. Returns how many stay without one. */
export async function reviveShown({ repair, rows }: ShownParts, seen: IdSet): Promise<number> {
  let refused = 0
  for (const ids of batches(seen.ids())) {
    const hidden = await notLive(rows, ids)
    if (hidden.length === 0) continue
    // Those that are gone by now are marked rightly.
    refused += (await notLive(rows, await repair.revive(hidden))).length
  }
  return refused
}

/*
 * Records that the source shows in an older version than the warehouse has: it was restored from a backup, or it answers
 * from a copy that lags behind. Asked by id, twice and some seconds apart, the source tells which. `reconcile` uses it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Version } from '../../warehouse/batch.js'
import type { Fetched } from '../run/pagestore.js'
import type { Confirmation } from './confirm.js'

/** Milliseconds between the two answers: a copy that lags has caught up by then, or says so. */
export const answersApart = 5000

export interface WentBack {
  /** Both answers show the same older version. */
  readonly older: readonly { readonly fetched: Fetched; readonly stored: Version; readonly id: Int64 }[]
  /** Newer than the row, by both answers. */
  readonly newer: readonly Fetched[]
  /** Records of which list and answers say different things. */
  readonly differing: number
  /** Records that have the row's version by id, and stand in the list in an older one. */
  readonly asStored: number
}

const versionOf = (fetched: Fetched | undefined): string | undefined =>
  fetched?.flattened.records[0]?.updatedAt

/** What the source says by id of records that its list shows in a version older than the row's. */
export async function askWhoWentBack(
  confirmation: Confirmation,
  rows: ReadonlyMap<Int64, Version>,
  pause: () => Promise<void>,
): Promise<WentBack> {
  const older: WentBack['older'][number][] = []
  const newer: Fetched[] = []
  let [differing, asStored] = [0, 0]
  for (const { id, first, second } of await confirmation.twice([...rows.keys()], pause)) {
    const stored = rows.get(id)
    const version = versionOf(second)
    if (!stored || !second || version === undefined || versionOf(first) !== version) differing++
    else if (version < stored.updatedAt) older.push({ fetched: second, stored, id })
    else if (version === stored.updatedAt) asStored++
    else newer.push(second)
  }
  return { older, newer, differing, asStored }
}

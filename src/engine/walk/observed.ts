/** The records of a response, as the books take them. */
import type { Int64 } from '../../../schema/resource.js'

/** One record as a response showed it. Timestamps are canonical, so that the order of texts is the order of times. */
export interface ObservedRecord {
  /**
   * A text for a record that cannot be stored (`!`), for the second occurrence of an id in one response (`+`), and for a
   * record that no answer shows (`~`).
   */
  readonly id: Int64 | string
  readonly updatedAt: string
  readonly createdAt: string | null
}

/** One record of a response, before the rule below has told whether it counts as itself or under a text. */
export interface ShownRecord {
  /** The record that the warehouse stores under this id; undefined where the record cannot be stored. */
  readonly stored: (ObservedRecord & { readonly id: Int64 }) | undefined
  /** Tells the record from all others on whatever page it stands: its id, or a digest of its content if it has none. */
  readonly key: string
  /** Canonical; empty where the record has no usable `updated_at`. */
  readonly updatedAt: string
}

/**
 * Every record of a response as the books take it, in the order of the list. `total_count` counts every record, so the books
 * must count the unstorable and repeated ones too: such a record gets its key as a text for an id, which stays the
 * same from page to page. Without a time of its own it takes its neighbour's, because ranges and counts need one.
 */
export function observedRecords(shown: readonly ShownRecord[]): readonly ObservedRecord[] {
  const ids = new Set<Int64>()
  const occurrences = new Map<string, number>()
  let time = shown.find(({ updatedAt }) => updatedAt !== '')?.updatedAt ?? ''
  return shown.map(({ stored, key, updatedAt }) => {
    time = updatedAt || time
    if (stored && !ids.has(stored.id)) {
      ids.add(stored.id)
      return stored
    }
    const occurrence = (occurrences.get(key) ?? 0) + 1
    occurrences.set(key, occurrence)
    return { id: `${stored ? '+' : '!'}${key} ${occurrence}`, updatedAt: time, createdAt: null }
  })
}

/** The newest `updated_at` of a page; empty when the page shows none. */
export const newest = (observed: readonly ObservedRecord[]): string =>
  observed.reduce((top, { updatedAt }) => (updatedAt > top ? updatedAt : top), '')

/** The oldest `updated_at` of a page; empty when the page shows none. */
export const oldest = (observed: readonly ObservedRecord[]): string =>
  observed.reduce(
    (low, { updatedAt }) => (updatedAt !== '' && (low === '' || updatedAt < low) ? updatedAt : low),
    '',
  )

/**
 * Whether one response shows that the list is not newest first. Within a response nothing can have moved. A record that
 * was seen before may stand at a second place, which need not be in order.
 */
export function isOutOfOrder(
  observed: readonly ObservedRecord[],
  wasSeen: (id: Int64 | string) => boolean = () => false,
): boolean {
  let last: string | undefined
  for (const { id, updatedAt } of observed) {
    if (updatedAt === '' || (typeof id === 'string' && !id.startsWith('!')) || wasSeen(id)) continue
    if (last !== undefined && updatedAt > last) return true
    last = updatedAt
  }
  return false
}

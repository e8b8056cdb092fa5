/** The records of a response in the form the books take. */
import type { Int64 } from '../../../schema/resource.js'

/** One record as a response showed it. Timestamps are canonical, so they sort as texts in time order. */
export interface ObservedRecord {
  /**
   * A text for a record that can't be stored (`!`), for the second occurrence of an id in one response (`+`), and for a
   * record that no response shows (`~`).
   */
  readonly id: Int64 | string
  readonly updatedAt: string
  readonly createdAt: string | null
}

/** One record of a response, before observedRecords decides whether it counts as itself or under a text. */
export interface ShownRecord {
  /** The record that the warehouse stores under this id. undefined if the record can't be stored. */
  readonly stored: (ObservedRecord & { readonly id: Int64 }) | undefined
  /** Identifies the record on whatever page it is: its id, or a digest of its content if it has none. */
  readonly key: string
  /** Canonical. Empty if the record has no usable `updated_at`. */
  readonly updatedAt: string
}

/**
 * Every record of a response in the form the books take, in list order. `total_count` counts every record, so the books
 * must count the unstorable and repeated ones too. Such a record gets its key as a text in place of an id, which stays
 * the same from page to page. If it has no time of its own, it takes its neighbor's, because ranges and counts need
 * one.
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

/** The newest `updated_at` of a page. Empty if the page shows none. */
export const newest = (observed: readonly ObservedRecord[]): string =>
  observed.reduce((top, { updatedAt }) => (updatedAt > top ? updatedAt : top), '')

/** The oldest `updated_at` of a page. Empty if the page shows none. */
export const oldest = (observed: readonly ObservedRecord[]): string =>
  observed.reduce(
    (low, { updatedAt }) => (updatedAt !== '' && (low === '' || updatedAt < low) ? updatedAt : low),
    '',
  )

/**
 * Whether one response shows that the list isn't newest first. Nothing can move within a response. A record that was
 * seen earlier may be at a second place, which doesn't have to be in order.
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

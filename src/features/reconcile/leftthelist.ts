/*
 * Records that the list and its total no longer contain and that the source still has by id: archived ones. Deleting
 * their rows would lose them, and counting them would make every comparison differ. Used by `reconcile` and `verify`.
 */

import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Memory } from '../../engine/list/memory.js'
import type { UnclearAnswer } from '../../engine/run/answerbyid.js'
import type { Confirmation } from '../../engine/run/confirm.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { Fetched } from '../../engine/warehouse/store/versionbatch.js'

/** The rows whose record the source has by id in exactly the row's version. */
function asBefore(rows: readonly Candidate[], answers: readonly Fetched[]): readonly Candidate[] {
  const found = new Map(
    answers.flatMap(({ flattened }) =>
      flattened.records.map(({ id, updatedAt }) => [id, updatedAt] as const),
    ),
  )
  return rows.filter(({ id, updatedAt }) => found.get(id) === updatedAt)
}

/** The records of one cursor that a comparison finds to have left the list, now or earlier. */
export class LeftRecords {
  readonly #ids = new Set<Int64>()
  readonly #unclear = new Map<Int64, UnclearAnswer>()

  /** `pause`: waits between two responses by id. */
  constructor(
    private readonly parts: {
      readonly confirmation: Confirmation
      readonly liveRows: Pick<LiveRows, 'unlisted' | 'versions'>
      pause(): Promise<void>
    },
  ) {}

  /** Those that the source has by id. A later page of the list may have shown some of them again. */
  get ids(): readonly Int64[] {
    return [...this.#ids]
  }

  /** Those found earlier about which the source gives no clear answer any more. */
  get unclear(): Confirmation['unclear'] {
    return this.#unclear
  }

  /**
   * Which of the missing rows have left the list: the source has them by id as they are here, and again a few seconds
   * later, when a list that lagged would have caught up. Whether the total lacks them, too, is shown by the counts that
   * the comparison still has to make. `moved`: what the source answered by id. `counted`: how many of the missing the
   * source may still count; these have not left the list.
   */
  async among({
    missing,
    moved,
    counted,
  }: {
    readonly missing: readonly Candidate[]
    readonly moved: readonly Fetched[]
    readonly counted: number
  }): Promise<readonly Candidate[]> {
    const still = asBefore(missing, moved)
    if (still.length <= counted) return []
    const { confirmation, pause } = this.parts
    await pause()
    const left = asBefore(still, (await confirmation.askById(still)).moved)
    for (const { id } of left) this.#ids.add(id)
    return left
  }

  /**
   * Requests those that were found earlier and that the list hasn't shown since: no walk sees them change. undefined if
   * there are none, or if the source no longer answers by id.
   */
  async askAgain() {
    const { confirmation, liveRows } = this.parts
    const earlier = liveRows.unlisted.filter(({ id }) => !this.#ids.has(id))
    if (earlier.length === 0) return undefined
    const versions = await liveRows.versions(earlier.map(({ id }) => id))
    const asked = earlier.filter(({ id }) => (versions.get(id)?.unlistedAt ?? null) !== null)
    const answer = await confirmation.askById(asked)
    const gone = new Set(answer.gone.map(({ id }) => id))
    for (const [id, unclear] of answer.unclear) this.#unclear.set(id, unclear)
    for (const { id } of asked) if (!gone.has(id) && !this.#unclear.has(id)) this.#ids.add(id)
    return answer.isById ? answer : undefined
  }
}

/** What a reconcile can claim about the records that have left the list, and what to remember. */
export interface LeftStanding {
  readonly ids: readonly Int64[]
  /** Those found for the first time. */
  readonly unconfirmed: readonly Int64[]
  readonly memory: Memory['left']
}

/**
 * A record has left the list for good once it was found to have on another day, or at a person's request. `unlisted`:
 * since when each has left, as of the end of the comparison.
 */
export function leftStanding(
  unlisted: ReadonlyMap<Int64, string>,
  before: Memory['left'],
  { now, isSearch }: { readonly now: string; readonly isSearch: boolean },
): LeftStanding {
  const left = [...unlisted].sort(([a], [b]) => (a < b ? -1 : 1))
  const confirmed = isSearch ? now : (before?.confirmed ?? '')
  const isNew = (since: string): boolean => since > confirmed && since.slice(0, 10) >= now.slice(0, 10)
  return {
    ids: left.map(([id]) => id),
    unconfirmed: left.filter(([, since]) => isNew(since)).map(([id]) => id),
    memory: left.length > 0 ? { records: left.length, confirmed } : undefined,
  }
}

/** How many ids a report names. */
const mostNamed = 100

export const leftReport = (ids: readonly Int64[]) => ({
  left_the_list: ids.length,
  left_ids: ids.slice(0, mostNamed),
})

import type { Book } from './books.js'
import { sourceTime, stampedAhead } from './clocks.js'
import { IdSet } from './idset.js'
import type { Hole } from './oddities.js'
import { Search } from './surplus.js'
import type { WalkOutcome, WalkPage, WalkPlan, WalkPort } from './types.js'

/** What all readings of one walk share. */
export class WalkState<P> {
  /** The newest `updated_at` that any reading has stored, of those that do not lie in the future. */
  newest = ''
  /** A response was not newest first: see order.ts. */
  isUnordered = false
  readonly search = new Search()
  /** Records that no answer shows. */
  readonly holes = new Map<string, Hole>()
  readonly #ahead = new IdSet()
  #aheadUntil = ''

  constructor(
    readonly port: WalkPort<P>,
    readonly plan: WalkPlan,
  ) {}

  /** A page is stored: nothing on it is news any more. */
  stored({ sightings, clocks }: WalkPage<P>): void {
    const limit = sourceTime(clocks)
    for (const { updatedAt } of sightings)
      if (updatedAt > this.newest && updatedAt <= limit) this.newest = updatedAt
  }

  /** `book`: that of the reading, where the response came in order. */
  noteResponse(page: WalkPage<P>, book?: Book): void {
    if (book) this.search.watch(book)
    this.noteStamps(page)
  }

  noteStamps({ sightings, clocks }: WalkPage<P>): void {
    for (const { id, updatedAt } of stampedAhead(sightings, clocks)) {
      if (typeof id !== 'string') this.#ahead.add(id)
      if (updatedAt > this.#aheadUntil) this.#aheadUntil = updatedAt
    }
  }

  /** The outcome, with what was noted of the stamps: they are the reason where nothing else is odd about the list. */
  tell(outcome: WalkOutcome): WalkOutcome {
    if (this.#ahead.size === 0) return outcome
    const ahead = { records: this.#ahead.size, until: this.#aheadUntil }
    const { reason } = outcome
    const isPlain = reason === null || reason === 'read_again' || reason === 'ties'
    const isReason = isPlain && outcome.verdict !== 'unproven'
    return { ...outcome, ahead, ...(isReason && { reason: 'future_stamps' }) }
  }
}

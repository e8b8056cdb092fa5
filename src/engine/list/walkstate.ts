import { type Finding, type Hole, nothingFound } from './anomalies.js'
import type { Book } from './books.js'
import { sourceTime, stampedAhead } from './clocks.js'
import { Search } from './countmismatch.js'
import { isWholeFrom } from './cutpoint.js'
import { IdSet } from './idset.js'
import { PageSize } from './pagesize.js'
import type { List, Store, WalkOutcome, WalkPage, WalkPlan } from './types.js'
import { type Evidence, verdict } from './verdict.js'

/** The most readings of a list whose only fault is that ties hide records. */
const mostReadings = 25
/** A longer list isn't worth that many readings: it is read once with each page size. */
const oftenUpTo = 5000

/** Whether a list whose only fault is that ties hide records may be read again. */
export const mayReadOn = (number: number, records: number): boolean =>
  number <= mostReadings && records <= oftenUpTo

/**
 * The ceiling as it is stored; null if it is still the floor of a walk of the whole list. Such a walk saw no record, and no
 * database can store a time before the year 1.
 */
export const ceilingReached = (ceiling: string | null): string | null =>
  ceiling === null || isWholeFrom(ceiling) ? null : ceiling

/** What all readings of one walk share. Where a walk is (open, read, close, again) isn't here, but in walk.ts. */
export class WalkState<P> {
  /** The newest `updated_at` that any reading has stored, not counting those in the future. */
  newest = ''
  /** A response wasn't newest first: see isOutOfOrder. */
  isUnordered = false
  readonly search = new Search()
  readonly size: PageSize
  /** Records that no response shows. */
  readonly holes = new Map<string, Hole>()
  readonly #ahead = new IdSet()
  #aheadUntil = ''

  constructor(
    readonly list: List<P>,
    readonly store: Store<P>,
    readonly plan: WalkPlan,
  ) {
    this.size = new PageSize(plan.pageSizes, plan.known?.size ?? undefined, this.isWhole)
  }

  /** Whether the whole list is read; then whatever earlier walks have settled is checked again. */
  get isWhole(): boolean {
    return isWholeFrom(this.plan.floor)
  }

  /** Records counted but not shown, as far as this walk takes that for granted. */
  get hidden(): number {
    return this.plan.known?.hidden ?? 0
  }

  /** A page is stored, so nothing on it is news any more. */
  stored({ observed, clocks }: WalkPage<P>): void {
    const limit = sourceTime(clocks)
    for (const { updatedAt } of observed)
      if (updatedAt > this.newest && updatedAt <= limit) this.newest = updatedAt
  }

  /** `book`: the reading's book, if the response came in order. */
  noteResponse(page: WalkPage<P>, book?: Book): void {
    this.size.watch(page)
    if (book) this.search.watch(book)
    this.noteStamps(page)
  }

  noteHoles({ holes = [] }: WalkPage<P>): void {
    for (const hole of holes) this.holes.set(`${hole.after} ${hole.until}`, hole)
  }

  noteStamps({ observed, clocks }: WalkPage<P>): void {
    for (const { id, updatedAt } of stampedAhead(observed, clocks)) {
      if (typeof id !== 'string') this.#ahead.add(id)
      if (updatedAt > this.#aheadUntil) this.#aheadUntil = updatedAt
    }
  }

  /** The walk's outcome, judged by the evidence. `odd`: other anomalies that it found. */
  outcome(
    given: Evidence,
    { ceiling, books }: Pick<WalkOutcome, 'ceiling' | 'books'>,
    odd: Partial<Finding> = {},
  ): WalkOutcome {
    const holes = [...this.holes.values()]
    const evidence = { ...given, holes: holes.length, isAhead: this.#ahead.size > 0 }
    const { twice = 0, hidden = 0 } = given
    const size = this.#learnedSize(hidden)
    return {
      ...verdict(evidence),
      evidence,
      ceiling: ceilingReached(ceiling),
      books,
      finding: { ...nothingFound, twice, hidden, holes, ...odd, size },
      ahead: evidence.isAhead ? { records: this.#ahead.size, until: this.#aheadUntil } : undefined,
    }
  }

  /**
   * A page may be shorter than requested because of records that are counted but not shown; that isn't a smaller page
   * size.
   */
  #learnedSize(hidden: number): number | null | undefined {
    const { learned } = this.size
    const [usual = 0] = this.plan.pageSizes
    return typeof learned === 'number' && usual - learned <= hidden ? undefined : learned
  }
}

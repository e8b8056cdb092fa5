/**
 * What the totals and the records shown reveal about a list that didn't change: records at two places, records that are
 * counted but never shown, wrong totals. reading.ts enters its pages, evidence.ts evaluates them.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Finding } from './anomalies.js'
import { anomalyOf } from './anomalies.js'
import type { Book } from './books.js'
import type { ObservedRecord } from './observed.js'

/** The numbers of a list that didn't change. */
export interface StillList {
  readonly total: number
  /** Distinct records. */
  readonly shown: number
  /** Places that show a record for the second time. */
  readonly twice: number
  /** Records counted but not shown. Negative if more is shown than counted. */
  readonly hidden: number
}

/** The places of one reading that show a record again. */
export class Places {
  /** Records that a later page showed again, with the time it showed. */
  readonly #again = new Map<Int64, string>()
  /** Texts of records that one page showed twice. */
  readonly #beside = new Set<string>()

  get beside(): number {
    return this.#beside.size
  }

  /** Places that show a record again, whatever the reason. */
  get repeated(): number {
    return this.#again.size + this.#beside.size
  }

  /** Enters a page in list order, before the book does. */
  take(observed: readonly ObservedRecord[], book: Book): void {
    for (const { id, updatedAt } of observed) {
      if (typeof id === 'number' || typeof id === 'bigint') {
        if (book.has(id)) this.#again.set(id, updatedAt)
      } else if (anomalyOf(id) === 'repeated') this.#beside.add(id)
    }
  }

  /**
   * The numbers of the reading. undefined if the list moved. A record shown on both of two pages that meet within one
   * time proves nothing: the source may have shown it in place of another.
   */
  still(book: Book): StillList | undefined {
    const { first, last, distinct, entered, fallen } = book.balance()
    const { isOpen, isLate, hasMoved } = book.doubts
    if (first !== last || entered + fallen > 0 || isOpen || isLate || hasMoved) return undefined
    const sure = [...this.#again.values()].filter((time) => !book.ties.doubts(time)).length
    const shown = distinct - this.beside
    const twice = sure + this.beside
    // The total may count records, or the places that show them.
    return { total: last, shown, twice, hidden: shown === last ? 0 : last - shown - twice }
  }
}

/**
 * Deletions by themselves make a total fall again and again. A total that also rises this often without a new record
 * doesn't count anything.
 */
const manyJumps = 3

/** What several readings of one walk have revealed. */
export class Search {
  /** The numbers of the previous reading, if the list didn't change. */
  before: StillList | undefined
  /** The most places in one reading where a page shows a record twice. */
  beside = 0
  /** Consecutive readings of an unchanged list that found nothing new. */
  steady = 0
  /** Distinct records of all readings. */
  all = 0
  /** How often the total fell and rose since a record last arrived or moved. */
  #falls = 0
  #rises = 0
  #total = 0
  /** The total has already been checked. */
  isTotalDoubted = false
  /**
   * A page had more places than its total counts: records listed twice, or records that ties hide and nobody counts.
   */
  isOverfull = false
  /** The page past the end was requested and showed nothing new. */
  isEndSeen = false

  /** Whether the total goes up and down while nothing in the list moves. */
  get isTotalJumping(): boolean {
    return !this.isTotalDoubted && Math.min(this.#falls, this.#rises) >= manyJumps
  }

  /** Checks the total after each response that came in order. */
  watch(book: Book): void {
    const change = book.last - this.#total
    this.#total = book.last
    if (book.balance().entered > 0 || book.doubts.hasMoved) this.#falls = this.#rises = 0
    else if (change < 0) this.#falls++
    else if (change > 0) this.#rises++
  }

  /** Enters the numbers of the next reading. */
  follow(still: StillList | undefined, all: number): void {
    this.steady = still !== undefined && this.before !== undefined && all === this.all ? this.steady + 1 : 0
    this.all = all
    this.before = still
  }
}

export const isSameList = (one: StillList, other: StillList): boolean =>
  one.total === other.total &&
  one.shown === other.shown &&
  one.twice === other.twice &&
  one.hidden === other.hidden

/**
 * Whether the numbers are those that earlier walks have settled. If fewer records are hidden than remembered, they
 * count as some of those, unless ties could hide others.
 */
export const isKnownMismatch = (
  { hidden, twice }: StillList,
  known: Finding | undefined,
  mayHide: boolean,
): boolean =>
  known !== undefined &&
  hidden >= 0 &&
  twice <= known.twice &&
  (hidden === known.hidden || (hidden < known.hidden && !mayHide)) &&
  hidden + twice > 0

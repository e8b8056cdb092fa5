import type { Int64 } from '../../schema/resource.js'
import { IdSet } from './idset.js'

/** Before every record: the floor of a first load. */
export const epoch = '1970-01-01T00:00:00.000000Z'

/** One record as a response showed it. Timestamps are canonical, so that text order is time order. */
export interface Sighting {
  /** Text for what has no id of its own: an unusable record, or the second occurrence of an id in one response. */
  readonly id: Int64 | string
  readonly updatedAt: string
  readonly createdAt: string | null
}

/** What the books know, for the report and for the row in `sync_run_cursors` that a verdict rests on. */
export interface Balance {
  /** `total_count` of the first response (T0). */
  readonly first: number
  /** `total_count` of the last response (T1). */
  readonly last: number
  /** Distinct records seen (|S|). */
  readonly distinct: number
  /** Records that came into the list while it was read. */
  readonly entered: number
  /** By how much `total_count` fell, all intervals together. */
  readonly fallen: number
}

/**
 * How the books stand. `closed`: nothing was deleted meanwhile, and what was seen is exactly what there is.
 * `complete`: records were deleted, but stepping back has lost none. `open`: something may be missing.
 */
export type Standing = 'closed' | 'complete' | 'open'

/** Where the `updated_at`s of a response begin and end, and whether the list goes on beyond it. */
export interface Edges {
  readonly newest: string
  readonly oldest: string
  /** Nothing of the list lies in front of it. */
  readonly isTop: boolean
  /** Nothing of the list lies behind it. */
  readonly isEnd: boolean
}

/**
 * Finds records of one `updated_at` that two responses have between them. They have no order among themselves: the
 * source may show one of them twice and another never. Responses follow one another so that each begins at or before
 * the place where the one before ended (that is what stepping back is for). Then a group of equal times is whole in
 * one response unless it is the last of one and the first of the next, or the next begins in front of it; what is
 * doubtful stays so until some response shows it with newer and older records around it.
 */
class TieWatch {
  readonly #doubtful = new Set<string>()
  #end: string
  #held: Edges[] = []

  constructor(end: string, found: boolean) {
    this.#end = end
    if (found) this.#doubtful.add('')
  }

  get found(): boolean {
    return this.#doubtful.size > 0
  }

  /** Whether records of this `updated_at` may be hidden. */
  doubts(time: string): boolean {
    return this.#doubtful.has(time)
  }

  /** The next response in order. */
  follow(edges: Edges): void {
    this.#held = []
    if (this.#end !== '' && edges.newest >= this.#end) this.#doubtful.add(this.#end)
    this.glimpse(edges)
    this.#end = edges.isEnd ? '' : edges.oldest
  }

  /** A response of a window, of which it is not yet known whether it is in order. */
  hold(edges: Edges): void {
    this.#held.push(edges)
  }

  followHeld(): void {
    for (const edges of this.#held.splice(0)) this.follow(edges)
  }

  /** A response out of order: it can dispel doubts, not raise them. */
  glimpse({ newest, oldest, isTop, isEnd }: Edges): void {
    for (const time of this.#doubtful)
      if (
        time !== '' &&
        (isTop || time < newest) &&
        (isEnd || time > oldest) &&
        time <= newest &&
        time >= oldest
      )
        this.#doubtful.delete(time)
  }
}

export interface OpenBook {
  readonly floor: string
  /** T0. */
  readonly total: number
  /** Newest `updated_at` of the first response. */
  readonly ceiling: string
}

interface Restored {
  readonly progress: {
    readonly first: number
    readonly last: number
    readonly fallen: number
    readonly tied: boolean
    readonly ceiling: string
    readonly boundary: string
  }
  readonly ids: readonly Int64[]
  readonly entered: readonly Int64[]
}

/**
 * The books of a walk (design: the walk). They decide whether it may be called complete: T0 is `total_count` of the
 * first response and c its newest `updated_at`; S is every id seen; `entered` are those newer than c that were created
 * after c or whose version in the warehouse was at or below the floor; T1 is the total of one more first page that
 * shows nothing newer than what was seen. They close if T0 + entered = T1 = |S| and no total ever fell in between.
 */
export class Book {
  readonly floor: string
  readonly ceiling: string
  readonly #first: number
  readonly #seen = new IdSet()
  readonly #odd = new Set<string>()
  readonly #entered = new IdSet()
  readonly ties: TieWatch
  #last: number
  #fallen = 0
  #doubtful = false
  #surprised = false

  constructor(open: OpenBook, ties = new TieWatch('', false)) {
    this.ties = ties
    this.floor = open.floor
    this.ceiling = open.ceiling
    this.#first = open.total
    this.#last = open.total
  }

  /** The book of a walk that an earlier process began. */
  static restored(floor: string, { progress, ids, entered }: Restored): Book {
    const ties = new TieWatch(progress.boundary, progress.tied)
    const book = new Book({ floor, total: progress.first, ceiling: progress.ceiling }, ties)
    for (const id of ids) book.#seen.add(id)
    for (const id of entered) book.#entered.add(id)
    book.#last = progress.last
    book.#fallen = progress.fallen
    return book
  }

  has(id: Int64 | string): boolean {
    return typeof id === 'string' ? this.#odd.has(id) : this.#seen.has(id)
  }

  /** Enters one response. Returns the ids that were new, and by how much the total fell since the one before. */
  response(total: number, sightings: readonly Sighting[]): { fresh: Int64[]; fell: number } {
    const fell = Math.max(0, this.#last - total)
    this.#fallen += fell
    this.#last = total
    const fresh: Int64[] = []
    for (const { id } of sightings) {
      if (typeof id === 'string') this.#odd.add(id)
      else if (this.#seen.add(id)) fresh.push(id)
    }
    return { fresh, fell }
  }

  /**
   * Decides for the records newer than the ceiling whether they entered the list while it was read. `before` is the
   * version that the warehouse had. Where neither tells, the books stay open: judging by hope was found worse.
   */
  judge(sightings: readonly Sighting[], before: (id: Int64) => string | undefined): Int64[] {
    const entered: Int64[] = []
    for (const { id, updatedAt, createdAt } of sightings) {
      if (updatedAt <= this.ceiling || typeof id === 'string' || this.#entered.has(id)) continue
      const stored = before(id)
      const created = createdAt !== null && createdAt > this.ceiling
      if (created || (stored !== undefined && stored <= this.floor)) {
        this.#entered.add(id)
        entered.push(id)
      } else if (stored === undefined && !this.#wasThere(createdAt)) this.#doubtful = true
    }
    return entered
  }

  /**
   * The last page of all: what it shows for the first time, and no tie could have hidden, came late. Such a record
   * makes up in the totals for one that was deleted; then a record that hides behind others of its `updated_at` would
   * not be missed.
   */
  surprise(sightings: readonly Sighting[]): void {
    const isLate = ({ id, updatedAt }: Sighting): boolean => !this.has(id) && !this.ties.doubts(updatedAt)
    this.#surprised ||= sightings.some(isLate)
  }

  /** All that is wrong is that records are missing which ties may hide: reading again and joining can close these. */
  get isShort(): boolean {
    const { first, last, distinct, entered, fallen } = this.balance()
    const isShort = fallen === 0 && first + entered === last && distinct < last
    return isShort && !this.#doubtful && !(this.#surprised && this.ties.found)
  }

  /**
   * Whether a record that the warehouse does not know was in the list when the walk began. A creation in the very
   * second of the ceiling cannot be told from one after it: the source may print whole seconds.
   */
  #wasThere(createdAt: string | null): boolean {
    return this.floor === epoch && createdAt !== null && createdAt < this.ceiling
  }

  /** How the books stand, given that the last response was a first page that showed nothing new. */
  standing(): Standing {
    const { first, last, distinct, entered, fallen } = this.balance()
    if (this.#doubtful) return 'open'
    const isEven = fallen === 0 && first + entered === last && distinct === last
    if (isEven && !(this.#surprised && this.ties.found)) return 'closed'
    const deleted = first + entered - last
    const plausible = deleted >= fallen && distinct >= last && distinct <= last + deleted
    return fallen > 0 && plausible && !this.ties.found ? 'complete' : 'open'
  }

  balance(): Balance {
    return {
      first: this.#first,
      last: this.#last,
      distinct: this.#seen.size + this.#odd.size,
      entered: this.#entered.size,
      fallen: this.#fallen,
    }
  }
}

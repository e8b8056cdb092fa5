import type { Int64 } from '../../schema/resource.js'
import { IdSet } from './idset.js'
import { type Edges, TieWatch } from './ties.js'

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
 * `even`: the same, but things moved where the numbers alone cannot tell it from a record that came late and hid that
 * another was deleted and a third not seen; one reading more has to agree. `complete`: records were deleted, but
 * stepping back has lost none. `open`: something may be missing.
 */
export type Standing = 'closed' | 'even' | 'complete' | 'open'

export interface OpenBook {
  readonly floor: string
  /** T0. */
  readonly total: number
  /** Newest `updated_at` of the first response. */
  readonly ceiling: string
  /** What is newer than this may have become visible after the first response, though it is no newer than the ceiling. */
  readonly lateFrom?: string
  /** Whether the first response showed all that was newer than `lateFrom`. */
  readonly isZoneSeen?: boolean
}

/** What else a book has to remember when its walk is cut short. */
export interface Doubts {
  readonly isZoneSeen: boolean
  /** Something was seen of which it is not known whether it entered. */
  readonly isOpen: boolean
  readonly isLate: boolean
  readonly hasMoved: boolean
}

interface Restored {
  readonly progress: {
    readonly first: number
    readonly last: number
    readonly fallen: number
    readonly tied: boolean
    readonly ceiling: string
    readonly boundary: string
    readonly doubts?: Doubts
  }
  readonly lateFrom: string
  readonly ids: readonly Int64[]
  readonly entered: readonly Int64[]
}

/**
 * The books of a walk (design: the walk). They decide whether it may be called complete: T0 is `total_count` of the
 * first response and c its newest `updated_at`; S is every id seen; `entered` are those of S that came into the list
 * after the first response; T1 is the total of one more first page that shows nothing newer than what was seen. They
 * close if T0 + entered = T1 = |S| and no total ever fell in between.
 *
 * All rests on `entered` leaving nobody out: then |S| = T0 + entered says that everything was seen which the first
 * response counted. Newer than c is easy. The others may only be as old as records can be that become visible late, as
 * old as the floor of the next walk: that is the late zone. Where the first response showed the whole zone, whatever
 * else turns up in it has entered, and the count is exact. A zone of more than a page (a bulk change within the last
 * minutes) leaves room for doubt: see `surprise`, `vanished` and `even`.
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
  /** The latest response is not judged yet. */
  #pending = false
  #surprised = false
  #vanished = false
  /** Something came late, and is counted. */
  #late = false
  /** Something newer than the ceiling was seen. */
  #moved = false
  readonly #lateFrom: string
  readonly #isZoneSeen: boolean
  /** The first response, and which ids the latest one showed for the first time. */
  #opening: readonly Sighting[] | undefined
  #fresh = new Set<Int64 | string>()

  constructor(open: OpenBook, ties = new TieWatch('', false)) {
    this.ties = ties
    this.floor = open.floor
    this.ceiling = open.ceiling
    this.#lateFrom = open.lateFrom ?? open.ceiling
    this.#isZoneSeen = open.isZoneSeen ?? open.lateFrom === undefined
    this.#first = open.total
    this.#last = open.total
  }

  /** The book of a walk that an earlier process began. */
  static restored(floor: string, { progress, lateFrom, ids, entered }: Restored): Book {
    const ties = new TieWatch(progress.boundary, progress.tied)
    const { first: total, ceiling, doubts } = progress
    const book = new Book({ floor, total, ceiling, lateFrom, isZoneSeen: doubts?.isZoneSeen ?? false }, ties)
    book.#opening = []
    book.#doubtful = doubts?.isOpen ?? true
    book.#late = doubts?.isLate ?? true
    book.#moved = doubts?.hasMoved ?? true
    for (const id of ids) book.#seen.add(id)
    for (const id of entered) book.#entered.add(id)
    book.#last = progress.last
    book.#fallen = progress.fallen
    return book
  }

  has(id: Int64 | string): boolean {
    return typeof id === 'string' ? this.#odd.has(id) : this.#seen.has(id)
  }

  get doubts(): Doubts {
    return {
      isZoneSeen: this.#isZoneSeen,
      isOpen: this.#doubtful || this.#surprised || this.#pending,
      isLate: this.#late,
      hasMoved: this.#moved,
    }
  }

  /**
   * Enters one response. Returns the ids that were new, those of them that were created since the walk began, and by
   * how much the total fell since the response before.
   */
  response(
    total: number,
    sightings: readonly Sighting[],
  ): { fresh: Int64[]; created: Int64[]; fell: number } {
    const fell = Math.max(0, this.#last - total)
    this.#fallen += fell
    this.#last = total
    const fresh: Int64[] = []
    this.#fresh.clear()
    for (const { id } of sightings) {
      if (typeof id === 'string') this.#odd.add(id)
      else if (this.#seen.add(id)) fresh.push(id)
    }
    if (this.#opening) for (const id of fresh) this.#fresh.add(id)
    else this.#opening = sightings
    return { fresh, created: this.#enter(sightings), fell }
  }

  /** The records of the latest response that were created since the walk began: no other knowledge is needed. */
  #enter(sightings: readonly Sighting[]): Int64[] {
    const created: Int64[] = []
    for (const { id, updatedAt, createdAt } of sightings) {
      if (updatedAt > this.ceiling) this.#moved = true
      if (updatedAt <= this.#bar || typeof id === 'string' || !this.#fresh.has(id)) continue
      this.#late ||= updatedAt <= this.ceiling
      if (createdAt === null || createdAt <= this.#bar) this.#pending = true
      else {
        this.#entered.add(id)
        created.push(id)
      }
    }
    return created
  }

  /** What is newer than this, and was not in the first response, came to its place after it. */
  get #bar(): string {
    return this.#isZoneSeen && this.#lateFrom < this.ceiling ? this.#lateFrom : this.ceiling
  }

  /**
   * Decides for the records of the latest response that are newer than the bar, and were created before, whether they
   * entered the list while it was read. `before` is the version that the warehouse had. Where neither tells, the books
   * stay open: judging by hope was found worse.
   */
  judge(sightings: readonly Sighting[], before: (id: Int64) => string | undefined): Int64[] {
    const entered: Int64[] = []
    this.#pending = false
    for (const { id, updatedAt, createdAt } of sightings) {
      if (updatedAt <= this.#bar || typeof id === 'string' || !this.#fresh.has(id) || this.#entered.has(id))
        continue
      const stored = before(id)
      if (stored !== undefined && (stored <= this.floor || this.#wasShown(stored))) {
        this.#entered.add(id)
        entered.push(id)
      } else if (stored === undefined && !this.#wasThere(createdAt)) this.#doubtful = true
    }
    return entered
  }

  /** Whether the first response would have shown a record that was there with this version or a newer one. */
  #wasShown(version: string): boolean {
    return this.#isZoneSeen && version > this.#bar
  }

  /**
   * The last page of all, or one that is read again from the top: what it shows for the first time, though it is as old
   * as what was read before, and no tie could have hidden it, came late or came back. Such a record makes up in the
   * totals for one that was deleted; then one that hides behind others of its `updated_at`, or slipped, would not be
   * missed.
   */
  surprise(sightings: readonly Sighting[]): void {
    this.#surprised ||= sightings.some(
      ({ id, updatedAt }) => updatedAt <= this.#bar && !this.has(id) && !this.ties.doubts(updatedAt),
    )
  }

  /**
   * The last page of all: what the first response showed, and it does not, though it shows older ones, was deleted. If
   * the totals do not tell so, something else has made up for it.
   */
  vanished(sightings: readonly Sighting[], { oldest, isEnd }: Pick<Edges, 'oldest' | 'isEnd'>): void {
    const shown = new Set(sightings.map(({ id }) => id))
    this.#vanished ||= (this.#opening ?? []).some(
      ({ id, updatedAt }) => typeof id !== 'string' && (isEnd || updatedAt > oldest) && !shown.has(id),
    )
  }

  /** What a first page, asked for again, shows and nobody has entered yet: it came after the first response. */
  isNews({ id, updatedAt }: Sighting): boolean {
    return updatedAt > this.#bar && !this.has(id)
  }

  /** All that is wrong is that records are missing which ties may hide: reading again and joining can close these. */
  get isShort(): boolean {
    const { first, last, distinct, entered, fallen } = this.balance()
    const isShort = fallen === 0 && first + entered === last && distinct < last
    return isShort && !this.#doubtful && !this.#surprised && !this.#vanished
  }

  /**
   * Whether a record that the warehouse does not know was in the list when the walk began. A creation in the very
   * second of the ceiling cannot be told from one after it: the source may print whole seconds. Nor can one in the late
   * zone from one that had not yet become visible.
   */
  #wasThere(createdAt: string | null): boolean {
    return (
      this.floor === epoch && createdAt !== null && createdAt < this.ceiling && createdAt <= this.#lateFrom
    )
  }

  /** How the books stand, given that the last response was a first page that showed nothing new. */
  standing(): Standing {
    const { first, last, distinct, entered, fallen } = this.balance()
    if (this.#doubtful || this.#surprised) return 'open'
    if (fallen === 0 && first + entered === last && distinct === last && !this.#vanished)
      return this.#moved && this.ties.areKnown && !this.#isZoneSeen ? 'even' : 'closed'
    const deleted = first + entered - last
    const plausible = deleted >= fallen && distinct >= last && distinct <= last + deleted
    return fallen > 0 && plausible && !this.ties.found && !this.#late ? 'complete' : 'open'
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

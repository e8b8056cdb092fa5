/**
 * The books of a walk count what the responses showed. Reading (reading.ts) enters every response; verdict.ts says what
 * the counts prove.
 */
import type { Int64 } from '../../../schema/resource.js'
import { epoch, forever } from './cutpoint.js'
import { IdSet } from './idset.js'
import type { ObservedRecord } from './observed.js'
import { OlderPart, type Place, uncounted } from './olderpart.js'
import { type Edges, TieWatch } from './ties.js'
import type { Doubts, OpenBook, RestoredBook } from './types.js'
import { type Balance, type Counted, missingIn } from './verdict.js'

/**
 * Counts the first response's total, the ids seen, and the records that entered the list after the first response.
 * Everything rests on that last count leaving nobody out (docs/architecture.md, Why a walk can be complete). So where a
 * record may have entered and nothing tells, the book notes a doubt.
 */
export class Book {
  readonly floor: string
  readonly ceiling: string
  readonly #first: number
  readonly #seen = new IdSet()
  readonly #unstorable = new Set<string>()
  readonly #entered = new IdSet()
  #last: number
  #fallen = 0
  /** Nothing tells of some record whether it entered. */
  #doubtful = false
  /** `judge` has not yet decided on the latest response. */
  #pending = false
  #surprised = false
  #vanished = false
  /** A record came late, and counts as entered. */
  #late = false
  /** A record newer than the ceiling was seen. */
  #moved = false
  /** A response differed from what a list that stands still would have shown. */
  #hasStirred = false
  /** The late zone was read again after the reading: whether that showed no unseen record, and hid none. */
  zoneAgrees: boolean | undefined
  readonly lateFrom: string
  readonly #isZoneSeen: boolean
  readonly #isTopSeen: boolean
  /** Behind a late zone that the first response did not show whole. */
  readonly #older: OlderPart | undefined
  /** The first response. */
  #opening: readonly ObservedRecord[] | undefined
  /** Ids that the latest response showed for the first time; after the first response only. */
  #fresh = new Set<Int64 | string>()

  constructor(
    open: OpenBook,
    readonly ties = new TieWatch('', false),
    older?: Doubts['older'],
  ) {
    this.floor = open.floor
    this.ceiling = open.ceiling
    this.lateFrom = open.lateFrom ?? open.ceiling
    this.#isTopSeen = open.isTopSeen ?? true
    this.#isZoneSeen = this.#isTopSeen && (open.isZoneSeen ?? open.lateFrom === undefined)
    this.#older = this.#isZoneSeen ? undefined : new OlderPart(this.lateFrom, older)
    this.#first = open.total
    this.#last = open.total
  }

  /** The book of a walk that an earlier process began. */
  static restored(floor: string, { progress, lateFrom, ids, entered }: RestoredBook): Book {
    const ties = new TieWatch(progress.boundary, progress.tied)
    const { first: total, ceiling, doubts } = progress
    const { isZoneSeen = false, isTopSeen = true } = doubts ?? {}
    const book = new Book(
      { floor, total, ceiling, lateFrom, isZoneSeen, isTopSeen },
      ties,
      doubts?.older ?? uncounted,
    )
    book.#opening = []
    book.#doubtful = doubts?.isOpen ?? true
    book.#late = doubts?.isLate ?? true
    book.#moved = doubts?.hasMoved ?? true
    book.#hasStirred = doubts?.hasStirred ?? doubts?.hasMoved ?? true
    for (const id of ids) book.#seen.add(id)
    for (const id of entered) book.#entered.add(id)
    book.#last = progress.last
    book.#fallen = progress.fallen
    return book
  }

  has(id: Int64 | string): boolean {
    return typeof id === 'string' ? this.#unstorable.has(id) : this.#seen.has(id)
  }

  /** `total_count` of the latest response. */
  get last(): number {
    return this.#last
  }

  get doubts(): Doubts {
    return {
      isZoneSeen: this.#isZoneSeen,
      isOpen: this.#doubtful || this.#surprised || this.#pending,
      isLate: this.#late,
      hasMoved: this.#moved,
      isTopSeen: this.#isTopSeen,
      hasStirred: this.#hasStirred,
      ...(this.#older && { older: this.#older.state }),
    }
  }

  /**
   * Enters one response. Returns the ids that were new, the new ids that were created since the walk began, and by how
   * much the total fell since the response before.
   */
  response(
    total: number,
    observed: readonly ObservedRecord[],
    place?: Place,
  ): { fresh: Int64[]; created: Int64[]; fell: number } {
    const fell = Math.max(0, this.#last - total)
    this.#fallen += fell
    this.#last = total
    const isNew = observed.map(({ id }) => this.#see(id))
    const fresh = observed.flatMap(({ id }, i) => (isNew[i] && typeof id !== 'string' ? [id] : []))
    this.#hasStirred ||= total !== this.#first || (place?.isAnew === true && isNew.includes(false))
    if (place) this.#older?.response(total, observed, isNew, place, place.isInOrder && fell === 0)
    this.#fresh = new Set(this.#opening ? fresh : [])
    this.#opening ??= observed
    return { fresh, created: this.#enter(observed), fell }
  }

  /** false: a response before has shown the record. */
  #see(id: Int64 | string): boolean {
    if (typeof id !== 'string') return this.#seen.add(id)
    return !this.#unstorable.has(id) && this.#unstorable.add(id).size > 0
  }

  /** Returns the new records of the latest response whose `created_at` alone shows that they entered. */
  #enter(observed: readonly ObservedRecord[]): Int64[] {
    const created: Int64[] = []
    for (const { id, updatedAt, createdAt } of observed) {
      if (updatedAt > this.ceiling && this.#isTopSeen && this.#isUnshown(id, updatedAt)) this.#moved = true
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

  /** A record that is newer than the bar, and that the first response did not show, came to its place later. */
  get #bar(): string {
    if (!this.#isTopSeen) return forever
    return this.#isZoneSeen && this.lateFrom < this.ceiling ? this.lateFrom : this.ceiling
  }

  /** Whether the first response did not show the record so: it may have, where the record is stamped ahead. */
  #isUnshown(id: Int64 | string, updatedAt: string): boolean {
    return !this.#opening?.some((shown) => shown.id === id && shown.updatedAt === updatedAt)
  }

  /**
   * Decides for each older record of the latest response that is newer than the bar whether it entered the list
   * during the walk, and returns the ids that did. `before` gives the version that the warehouse had. Where neither the
   * version nor `created_at` tells, the books stay open: a wrong `proven` was judged worse than another reading.
   */
  judge(observed: readonly ObservedRecord[], before: (id: Int64) => string | undefined): Int64[] {
    const entered: Int64[] = []
    this.#pending = false
    this.#moveOlder(observed, before)
    for (const { id, updatedAt, createdAt } of observed) {
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

  /** Records of the older part that were updated before the walk came to them show up at the front. */
  #moveOlder(observed: readonly ObservedRecord[], before: (id: Int64) => string | undefined): void {
    if (!this.#older) return
    for (const { id, updatedAt, createdAt } of observed) {
      if (updatedAt <= this.ceiling || typeof id === 'string' || !this.#fresh.has(id)) continue
      const stored = before(id)
      const isOlder = stored === undefined ? this.#wasThere(createdAt) : stored > this.floor
      if (isOlder && (stored ?? '') <= this.lateFrom) this.#older.moved(updatedAt)
    }
  }

  /** Whether the first response would have shown a record that stood in the list with this version or a newer one. */
  #wasShown(version: string): boolean {
    return this.#isZoneSeen && version > this.#bar
  }

  /**
   * Whether a record that the warehouse does not know was in the list when the walk began. Creation in the very second
   * of the ceiling says nothing, because the source may print whole seconds. Creation in the late zone says nothing
   * either, because the record may have become visible later.
   */
  #wasThere(createdAt: string | null): boolean {
    return (
      this.floor === epoch && createdAt !== null && createdAt < this.ceiling && createdAt <= this.lateFrom
    )
  }

  /**
   * Takes a first page after the first response. A record surprises if the page shows it for the first time, although
   * the record is as old as the pages read before and no tie could have hidden it. Such a record came late or came
   * back. In the totals it makes up for a deleted record, so that a hidden or slipped record would not be missed.
   */
  surprise(observed: readonly ObservedRecord[]): void {
    this.#surprised ||= observed.some(
      ({ id, updatedAt }) => updatedAt <= this.#bar && !this.has(id) && !this.ties.doubts(updatedAt),
    )
  }

  /**
   * Takes the last page of all. A record of the first response has vanished if the page does not show it, although the
   * page shows older ones: the record was deleted. If the totals do not fall, another record has made up for it.
   */
  vanished(observed: readonly ObservedRecord[], { oldest, isEnd }: Pick<Edges, 'oldest' | 'isEnd'>): void {
    const shown = new Set(observed.map(({ id }) => id))
    this.#vanished ||= (this.#opening ?? []).some(
      ({ id, updatedAt }) => typeof id !== 'string' && (isEnd || updatedAt > oldest) && !shown.has(id),
    )
  }

  /** Whether a record of the closing page came after the first response and is not in the book yet. */
  isNews({ id, updatedAt }: ObservedRecord): boolean {
    return updatedAt > this.#bar && !this.has(id)
  }

  /**
   * Whether the late zone has to be read once more: it is larger than the first response, and the list has stirred, or
   * nothing tells which of the records ahead of the ceiling came during the walk.
   */
  get needsZone(): boolean {
    if (this.#isZoneSeen) return false
    return this.#hasStirred || this.#moved || this.#surprised || this.#vanished || !this.#isTopSeen
  }

  /** Pages read together leave the older part uncounted: a reading in strict order had better begin anew. */
  get isLoose(): boolean {
    return this.needsZone && this.#older?.wasTogether === true
  }

  get isEven(): boolean {
    return missingIn(this.balance()) === 0
  }

  /** Whether only ties may hide the missing records: another reading, joined to this one, can close. */
  get isShort(): boolean {
    if (this.needsZone && this.zoneAgrees) return this.#older?.isShort === true
    if (!this.needsZone && (this.#doubtful || this.#surprised || this.#vanished)) return false
    return (missingIn(this.balance()) ?? 0) > 0
  }

  /** What the books have counted, if the last response was a first page that showed nothing new. */
  get counted(): Counted {
    const { wasTogether = false, isWhole = false } = this.#older ?? {}
    return {
      balance: this.balance(),
      isDoubtful: this.#doubtful || this.#surprised,
      hasVanished: this.#vanished,
      isLate: this.#late,
      hasTies: this.ties.found,
      ...(this.needsZone && {
        zone: {
          agrees: this.zoneAgrees ?? false,
          isRestWhole: isWhole,
          mayHide: wasTogether || this.ties.foundUpTo(this.lateFrom),
        },
      }),
    }
  }

  balance(): Balance {
    return {
      first: this.#first,
      last: this.#last,
      distinct: this.#seen.size + this.#unstorable.size,
      entered: this.#entered.size,
      fallen: this.#fallen,
    }
  }
}

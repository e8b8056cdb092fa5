/**
 * The books of a walk count what the responses showed. reading.ts enters every response; verdict.ts decides what the
 * counts prove.
 */
import type { Int64 } from '../../../schema/resource.js'
import { epoch, forever } from './cutpoint.js'
import { IdSet } from './idset.js'
import type { ObservedRecord } from './observed.js'
import { OlderPart, type Place, uncounted } from './olderpart.js'
import { type Balance, type Counted, missingIn } from './standing.js'
import { type Edges, TieWatch } from './ties.js'
import type { Doubts, WalkProgress } from './types.js'

/**
 * Counts the first response's total, the ids seen, and the records that entered the list after the first response.
 * Everything rests on that last count leaving nobody out (docs/dev/architecture.md, Why a walk can be complete). So if a
 * record may have entered and nothing shows whether it did, the book notes a doubt.
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
  /** For some record, nothing shows whether it entered. */
  #doubtful = false
  /** `judge` hasn't decided on the latest response yet. */
  #pending = false
  #surprised = false
  /** Records of the first response that a later first page should have shown and didn't. */
  #vanished = 0
  /** A record came late, and counts as entered. */
  #late = false
  /** A record newer than the ceiling was seen. */
  #moved = false
  /** A response differed from what an unchanged list would have shown. */
  #hasStirred = false
  /** Whether reading the late zone again after the reading showed no unseen record and hid none. */
  zoneAgrees: boolean | undefined
  readonly lateFrom: string
  readonly #isZoneSeen: boolean
  readonly #isTopSeen: boolean
  /** The part behind a late zone that the first response didn't fully show. */
  readonly #older: OlderPart | undefined
  #opening: readonly ObservedRecord[] | undefined
  /** Ids that the latest response showed for the first time. Only after the first response. */
  #fresh = new Set<Int64 | string>()

  constructor(
    open: {
      readonly floor: string
      /** T0. */
      readonly total: number
      /** Newest `updated_at` of the first response that isn't in the future (clocks.ts). */
      readonly ceiling: string
      /** A record newer than this may become visible after the first response, although it is no newer than the ceiling. */
      readonly lateFrom?: string
      /** Whether the first response showed every record newer than `lateFrom`. */
      readonly isZoneSeen?: boolean
      /**
       * Whether the first response showed every record newer than the ceiling. It didn't if whole pages of them are ahead
       * of it.
       */
      readonly isTopSeen?: boolean
    },
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
  static restored(
    floor: string,
    {
      progress,
      lateFrom,
      ids,
      entered,
    }: {
      readonly progress: Omit<WalkProgress, 'floor' | 'below' | 'part' | 'doubts'> & {
        readonly doubts?: Partial<Doubts>
      }
      readonly lateFrom: string
      readonly ids: readonly Int64[]
      readonly entered: readonly Int64[]
    },
  ): Book {
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
      older: this.#older?.state,
    }
  }

  /**
   * Enters one response. Returns the ids that were new, the new ids that were created since the walk began, and by how
   * much the total fell since the previous response.
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

  /** false: an earlier response already showed the record. */
  #see(id: Int64 | string): boolean {
    if (typeof id !== 'string') return this.#seen.add(id)
    return !this.#unstorable.has(id) && this.#unstorable.add(id).size > 0
  }

  /** Returns the new records of the latest response whose `created_at` is enough to show that they entered. */
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

  /** A record that is newer than the bar and that the first response didn't show got there later. */
  get #bar(): string {
    if (!this.#isTopSeen) return forever
    return this.#isZoneSeen && this.lateFrom < this.ceiling ? this.lateFrom : this.ceiling
  }

  /** Whether the first response didn't show this version of the record. It may have, if the record is stamped ahead. */
  #isUnshown(id: Int64 | string, updatedAt: string): boolean {
    return !this.#opening?.some((shown) => shown.id === id && shown.updatedAt === updatedAt)
  }

  /**
   * Decides for each older record of the latest response that is newer than the bar whether it entered the list during
   * the walk, and returns the ids that did. `before` returns the version that the warehouse had. If neither the version
   * nor `created_at` decides it, the books stay open: a wrong `proven` was judged worse than another reading.
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

  /** Records of the older part that were updated before the walk reached them show up at the front. */
  #moveOlder(observed: readonly ObservedRecord[], before: (id: Int64) => string | undefined): void {
    if (!this.#older) return
    for (const { id, updatedAt, createdAt } of observed) {
      if (updatedAt <= this.ceiling || typeof id === 'string' || !this.#fresh.has(id)) continue
      const stored = before(id)
      const isOlder = stored === undefined ? this.#wasThere(createdAt) : stored > this.floor
      if (isOlder && (stored ?? '') <= this.lateFrom) this.#older.moved(updatedAt)
    }
  }

  /** Whether the first response would have shown a record that was in the list with this version or a newer one. */
  #wasShown(version: string): boolean {
    return this.#isZoneSeen && version > this.#bar
  }

  /**
   * Whether a record that the warehouse doesn't know was in the list when the walk began. A creation time in the same
   * second as the ceiling doesn't decide it, because the source may print whole seconds. Neither does one in the late
   * zone, because the record may have become visible later.
   */
  #wasThere(createdAt: string | null): boolean {
    return (
      this.floor === epoch && createdAt !== null && createdAt < this.ceiling && createdAt <= this.lateFrom
    )
  }

  /**
   * Enters a first page that was read after the first response. A record is a surprise if the page shows it for the
   * first time although it is as old as the pages already read and no tie could have hidden it. Such a record came late
   * or came back. In the totals it offsets a deleted record, so a hidden or slipped record would go unnoticed.
   */
  surprise(observed: readonly ObservedRecord[]): void {
    this.#surprised ||= observed.some(
      ({ id, updatedAt }) => updatedAt <= this.#bar && !this.has(id) && !this.ties.doubts(updatedAt),
    )
  }

  /**
   * Enters the very last page. A record of the first response has vanished if the page doesn't show it but shows older
   * ones: it was deleted. If the totals didn't fall, another record offset it.
   */
  vanished(observed: readonly ObservedRecord[], { oldest, isEnd }: Pick<Edges, 'oldest' | 'isEnd'>): void {
    const shown = new Set(observed.map(({ id }) => id))
    const gone = (this.#opening ?? []).filter(
      ({ id, updatedAt }) => typeof id !== 'string' && (isEnd || updatedAt > oldest) && !shown.has(id),
    )
    this.#vanished = Math.max(this.#vanished, gone.length)
  }

  /** Whether a record of the closing page came after the first response and isn't in the book yet. */
  isNews({ id, updatedAt }: ObservedRecord): boolean {
    return updatedAt > this.#bar && !this.has(id)
  }

  /**
   * Whether the late zone has to be read again: it is larger than the first response, and the list has stirred, or
   * nothing shows which of the records ahead of the ceiling came during the walk.
   */
  get needsZone(): boolean {
    if (this.#isZoneSeen) return false
    return this.#hasStirred || this.#moved || this.#surprised || this.#vanished > 0 || !this.#isTopSeen
  }

  /** Pages that were read together leave the older part uncounted, so a new reading in strict order is better. */
  get isLoose(): boolean {
    return this.needsZone && this.#older?.wasTogether === true
  }

  get isEven(): boolean {
    return missingIn(this.balance()) === -this.#vanished
  }

  /** Whether only ties may hide the missing records, so that another reading, joined to this one, can close. */
  get isShort(): boolean {
    if (this.needsZone && this.zoneAgrees) return this.#older?.isShort === true
    if (!this.needsZone && (this.#doubtful || this.#surprised || this.#vanished > 0)) return false
    return (missingIn(this.balance()) ?? 0) > 0
  }

  /** What the books have counted, if the last response was a first page that showed nothing new. */
  get counted(): Counted {
    const { wasTogether = false, isWhole = false } = this.#older ?? {}
    return {
      balance: this.balance(),
      isDoubtful: this.#doubtful || this.#surprised,
      vanished: this.#vanished,
      isLate: this.#late,
      hasTies: this.ties.found,
      zone: this.needsZone
        ? {
            agrees: this.zoneAgrees ?? false,
            isRestWhole: isWhole,
            mayHide: wasTogether || this.ties.foundUpTo(this.lateFrom),
          }
        : undefined,
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

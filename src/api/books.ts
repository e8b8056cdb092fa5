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

/** How many responses back two records of one `updated_at` are still noticed. */
const tieMemory = 300

/** Notices when two records of one `updated_at` were seen in different responses: then their order proves nothing. */
class TieWatch {
  readonly #responses: string[][] = []
  readonly #seenIn = new Map<string, number>()
  #number = 0
  #forgotten: { readonly from: string; readonly to: string } | undefined
  found = false

  /** What an earlier process saw between these instants is not remembered: whatever turns up there may be tied. */
  forget(from: string, to: string): void {
    this.#forgotten = { from, to }
  }

  response(sightings: readonly Sighting[], isNew: (sighting: Sighting) => boolean): void {
    const number = ++this.#number
    for (const sighting of sightings) {
      const before = this.#seenIn.get(sighting.updatedAt)
      const tied = (before !== undefined && before !== number) || this.#isForgotten(sighting.updatedAt)
      if (tied && isNew(sighting)) this.found = true
    }
    const times = [...new Set(sightings.map((sighting) => sighting.updatedAt))]
    for (const time of times) this.#seenIn.set(time, number)
    this.#responses.push(times)
    if (this.#responses.length <= tieMemory) return
    for (const time of this.#responses.shift() ?? [])
      if ((this.#seenIn.get(time) ?? 0) <= number - tieMemory) this.#seenIn.delete(time)
  }

  #isForgotten(time: string): boolean {
    return this.#forgotten !== undefined && time >= this.#forgotten.from && time <= this.#forgotten.to
  }

  /** A step back further than the memory reaches cannot be judged. */
  stepBack(pages: number): void {
    if (pages >= tieMemory) this.found = true
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
  readonly #ties = new TieWatch()
  #last: number
  #fallen = 0
  #doubtful = false
  #lowest: string

  constructor(open: OpenBook) {
    this.floor = open.floor
    this.ceiling = open.ceiling
    this.#first = open.total
    this.#last = open.total
    this.#lowest = open.ceiling
  }

  /** The book of a walk that an earlier process began. */
  static restored(floor: string, { progress, ids, entered }: Restored): Book {
    const book = new Book({ floor, total: progress.first, ceiling: progress.ceiling })
    for (const id of ids) book.#seen.add(id)
    for (const id of entered) book.#entered.add(id)
    book.#last = progress.last
    book.#fallen = progress.fallen
    book.#lowest = progress.boundary
    book.#ties.found = progress.tied
    book.#ties.forget(progress.boundary, progress.ceiling)
    return book
  }

  /** Oldest `updated_at` seen so far. */
  get lowest(): string {
    return this.#lowest
  }

  get tied(): boolean {
    return this.#ties.found
  }

  has(id: Int64 | string): boolean {
    return typeof id === 'string' ? this.#odd.has(id) : this.#seen.has(id)
  }

  /** Enters one response. Returns the ids that were new, and by how much the total fell since the one before. */
  response(total: number, sightings: readonly Sighting[]): { fresh: Int64[]; fell: number } {
    const fell = Math.max(0, this.#last - total)
    this.#fallen += fell
    this.#last = total
    this.#ties.response(sightings, (sighting) => !this.has(sighting.id))
    const fresh: Int64[] = []
    for (const { id, updatedAt } of sightings) {
      if (updatedAt !== '' && updatedAt < this.#lowest) this.#lowest = updatedAt
      if (typeof id === 'string') this.#odd.add(id)
      else if (this.#seen.add(id)) fresh.push(id)
    }
    return { fresh, fell }
  }

  /** The walk goes so many pages back. */
  stepBack(pages: number): void {
    this.#ties.stepBack(pages)
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
    if (fallen === 0 && first + entered === last && distinct === last) return 'closed'
    const deleted = first + entered - last
    const plausible = deleted >= fallen && distinct >= last && distinct <= last + deleted
    return fallen > 0 && plausible && !this.#ties.found ? 'complete' : 'open'
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

/** The records of one resource of one tenant, ordered by updated_at. Used by tenant.ts; lists read pages from it. */
import type { Micros } from '../instant.js'
import { type ListPlace, Oddities } from './oddities.js'

export interface StoredRecord extends ListPlace {
  /** The record as JSON text: 100,000 repair orders fit into memory, and a page is made by joining texts. */
  readonly text: string
}

/** A change that has been made but isn't shown yet. */
interface Held {
  /** undefined for a deletion. */
  entry: StoredRecord | undefined
  holds: number
}

/** Returns numbers in [0, 1) that determine the order of records with one updated_at in one response. */
type Shuffle = () => number

const before = (a: StoredRecord, micros: Micros, seq: number): boolean =>
  a.micros < micros || (a.micros === micros && a.seq < seq)

const scatter = (key: number): number => Math.imul(key ^ 0x5bd1e995, 2_654_435_761) >>> 0

/** The records of one resource of one tenant, oldest first, so counting and paging are a binary search. */
export class Collection {
  #sorted: StoredRecord[] = []
  readonly #byKey = new Map<number, StoredRecord>()
  #scattered: StoredRecord[] | undefined
  #highest = 0
  readonly #held = new Map<number, Held>()
  readonly odd = new Oddities()

  /** An id that no record has or had. */
  get nextKey(): number {
    return this.#highest + 1
  }

  get size(): number {
    return this.#sorted.length
  }

  get(key: number): StoredRecord | undefined {
    return this.#byKey.get(key)
  }

  /** The record after its last change, whether or not that is shown. */
  current(key: number): StoredRecord | undefined {
    const held = this.#held.get(key)
    return held === undefined ? this.#byKey.get(key) : held.entry
  }

  /** Keeps showing the record as it was, like a lagging replica, until the returned function is called. */
  hold(key: number, shown: StoredRecord | undefined): () => void {
    const held = this.#held.get(key) ?? { entry: this.#byKey.get(key), holds: 0 }
    if (held.holds === 0) {
      this.#replace(key, shown)
      this.#held.set(key, held)
    }
    held.holds += 1
    return () => {
      held.holds -= 1
      if (held.holds > 0) return
      this.#held.delete(key)
      this.#replace(key, held.entry)
    }
  }

  #replace(key: number, entry: StoredRecord | undefined): void {
    if (entry === undefined) this.remove(key)
    else this.put(entry)
  }

  keys(): number[] {
    return [...this.#byKey.keys()]
  }

  put(entry: StoredRecord): void {
    this.#highest = Math.max(this.#highest, entry.key)
    const held = this.#held.get(entry.key)
    if (held !== undefined) {
      held.entry = entry
      return
    }
    const old = this.#byKey.get(entry.key)
    if (old !== undefined) this.#sorted.splice(this.#position(old.micros, old.seq), 1)
    this.#byKey.set(entry.key, entry)
    const last = this.#sorted.at(-1)
    if (last === undefined || before(last, entry.micros, entry.seq)) this.#sorted.push(entry)
    else this.#sorted.splice(this.#position(entry.micros, entry.seq), 0, entry)
    this.#scattered = undefined
  }

  /** Stores many new records with one sort; inserting each would take minutes for large tenants. */
  load(entries: readonly StoredRecord[]): void {
    for (const entry of entries) {
      this.#byKey.set(entry.key, entry)
      this.#highest = Math.max(this.#highest, entry.key)
      this.#sorted.push(entry)
    }
    this.#sorted.sort((a, b) => (before(a, b.micros, b.seq) ? -1 : 1))
    this.#scattered = undefined
  }

  remove(key: number): StoredRecord | undefined {
    const held = this.#held.get(key)
    if (held !== undefined) {
      const { entry } = held
      held.entry = undefined
      return entry
    }
    const entry = this.#byKey.get(key)
    if (entry === undefined) return undefined
    this.#byKey.delete(key)
    this.#sorted.splice(this.#position(entry.micros, entry.seq), 1)
    this.#scattered = undefined
    return entry
  }

  /** The records as they are now, for `restore`. */
  backup(): readonly StoredRecord[] {
    return [...this.#sorted]
  }

  /** Exactly the records from when `entries` was made, as after restoring a backup. */
  restore(entries: readonly StoredRecord[]): void {
    this.#byKey.clear()
    this.#sorted = []
    this.load(entries)
  }

  countAfter(micros: Micros): number {
    return this.#sorted.length - this.#position(micros, Number.POSITIVE_INFINITY)
  }

  /** `count` records starting at `offset`, newest first. */
  newest(offset: number, count: number, shuffle?: Shuffle): StoredRecord[] {
    const end = this.#sorted.length - offset
    const start = Math.max(0, end - count)
    if (end <= 0) return []
    if (shuffle !== undefined) return this.#newestShuffled(start, end, shuffle)
    return this.#sorted.slice(start, end).reverse()
  }

  /**
   * The document doesn't define an order for lists without updated_after; a scattered order keeps clients from relying
   * on one.
   */
  scattered(offset: number, count: number): StoredRecord[] {
    this.#scattered ??= [...this.#sorted].sort((a, b) => scatter(a.key) - scatter(b.key) || a.key - b.key)
    return this.#scattered.slice(offset, offset + count)
  }

  #newestShuffled(start: number, end: number, shuffle: Shuffle): StoredRecord[] {
    let low = start
    let high = end
    while (low > 0 && this.#sorted[low - 1]?.micros === this.#sorted[low]?.micros) low -= 1
    while (high < this.size && this.#sorted[high]?.micros === this.#sorted[high - 1]?.micros) high += 1
    const ranked = this.#sorted.slice(low, high).map((entry) => ({ entry, rank: shuffle() }))
    ranked.sort((a, b) =>
      a.entry.micros === b.entry.micros ? a.rank - b.rank : a.entry.micros < b.entry.micros ? -1 : 1,
    )
    return ranked
      .slice(start - low, end - low)
      .map(({ entry }) => entry)
      .reverse()
  }

  /** Where a record with this instant and arrival is, or would be. */
  #position(micros: Micros, seq: number): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = this.#sorted[middle]
      if (entry !== undefined && before(entry, micros, seq)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/**
 * Simulates a cursor of any size: its records are the numbers 0 to N-1, one every few seconds, so ten million records
 * take no memory. The source has deleted some records. The warehouse never had some others, which nothing shows. Both sides
 * answer as the real ones do.
 */

import { fromMicros, toMicros } from '../../src/engine/base/timestamp.js'
import { Bisection } from '../../src/engine/compare/bisect.js'
import type { Candidate, ComparePort, Comparison } from '../../src/engine/compare/comparison.js'
import { fullCost } from '../../src/engine/compare/comparisoncost.js'
import { type Cell, cellsOf, firstPlace, type Move } from '../../src/engine/compare/histogram.js'
import { nothingFound } from '../../src/engine/list/anomalies.js'
import { forever } from '../../src/engine/list/cutpoint.js'
import type { ObservedRecord } from '../../src/engine/list/observed.js'
import type { WalkPage } from '../../src/engine/list/types.js'

const base = 1_600_000_000_000_000n
const step = 3_141_593n
const timeOf = (i: number): string => fromMicros(base + BigInt(i) * step)
/** Counts the records 0 to N-1 whose time is at or before t. */
const upTo = (t: string, n: number): number =>
  t === forever
    ? n
    : Math.max(0, Math.min(n, Number((toMicros(t) - base) / step) + (toMicros(t) >= base ? 1 : 0)))

/** The numbers 0 to N-1 without some of them, the gaps. */
class Sequence {
  readonly #gaps: readonly number[]

  constructor(
    readonly size: number,
    gaps: Iterable<number>,
  ) {
    this.#gaps = [...new Set(gaps)].sort((a, b) => a - b)
  }

  has(i: number): boolean {
    return this.count(i + 1) > this.count(i)
  }

  /** Counts the numbers below i. */
  count(i: number): number {
    return i - firstPlace(0, this.#gaps.length, (place) => (this.#gaps[place] ?? 0) >= i)
  }

  /** The number that has k numbers below it. */
  at(k: number): number {
    return firstPlace(k, Math.min(this.size, k + this.#gaps.length), (i) => this.count(i + 1) > k)
  }
}

/** The numbers of the records in which source and warehouse differ, by cause. */
export interface Differences {
  readonly deleted?: readonly number[]
  readonly neverStored?: readonly number[]
}

export interface Figures extends Comparison {
  /** All requests: those that count, those that list, and those for single records. */
  readonly requests: number
  /** The requests for single records among them: every method of finding deletions needs these. */
  readonly items: number
}

export class SimulatedCursor implements ComparePort<readonly ObservedRecord[]> {
  readonly #source: Sequence
  readonly #rows: Sequence
  readonly #stored = new Set<number>()
  readonly #gone = new Set<number>()
  requests = 0
  items = 0
  readonly known = nothingFound
  readonly random: () => number

  constructor(records: number, differences: Differences, random: () => number) {
    const { deleted = [], neverStored = [] } = differences
    this.#source = new Sequence(records, deleted)
    this.#rows = new Sequence(records, neverStored)
    this.random = random
  }

  async fetch(after: string, page: number, perPage: number): Promise<WalkPage<readonly ObservedRecord[]>> {
    this.requests++
    const n = this.#source.size
    const all = this.#source.count(n)
    const total = all - this.#source.count(upTo(after, n))
    const observed: ObservedRecord[] = []
    for (let place = (page - 1) * perPage; place < Math.min(total, page * perPage); place++) {
      const id = this.#source.at(all - 1 - place)
      observed.push({ id, updatedAt: timeOf(id), createdAt: null })
    }
    const totalPages = Math.ceil(total / perPage)
    return { total, page, totalPages, records: observed.length, observed, payload: observed }
  }

  async cells(after: string, until: string): Promise<Cell[]> {
    const n = this.#rows.size
    const [from, to] = [upTo(after, n), upTo(until, n)]
    const each = Math.max(16, Math.ceil((to - from) / 2048))
    if (each === 16) return cellsOf([...this.#live(from, to)].map(timeOf), each)
    const cells: Cell[] = []
    for (let i = from; i < to; i += each) {
      const end = Math.min(to, i + each)
      const count = this.#rows.count(end) - this.#rows.count(i)
      cells.push({ end: `${timeOf(end - 1).slice(0, 19)}.999999Z`, count })
    }
    return cells
  }

  async rows(after: string, until: string): Promise<Map<number, string>> {
    const n = this.#rows.size
    return new Map([...this.#live(upTo(after, n), upTo(until, n))].map((id) => [id, timeOf(id)]))
  }

  #isLive(i: number): boolean {
    return (this.#rows.has(i) || this.#stored.has(i)) && !this.#gone.has(i)
  }

  *#live(from: number, to: number): Generator<number> {
    for (let i = from; i < to; i++) if (this.#isLive(i)) yield i
  }

  async store(page: WalkPage<readonly ObservedRecord[]>): Promise<Move[]> {
    const isNew = (id: number): boolean => !this.#rows.has(id) && !this.#stored.has(id)
    const fresh = page.observed.filter(({ id }) => isNew(Number(id)))
    for (const { id } of fresh) this.#stored.add(Number(id))
    return fresh.map(({ updatedAt }) => ({ before: null, after: updatedAt }))
  }

  async settle(candidates: readonly Candidate[]): Promise<Move[]> {
    const asked = candidates.length > 0 ? candidates.length + 1 : 0
    this.requests += asked
    this.items += asked
    for (const { id } of candidates) {
      if (this.#source.has(Number(id))) throw new Error(`${id} is not deleted`)
      this.#gone.add(Number(id))
    }
    return candidates.map(({ updatedAt }) => ({ before: updatedAt, after: null }))
  }

  inDoubt(): number {
    return 0
  }

  async refresh(): Promise<void> {
    this.requests++
  }

  note(): void {}

  /** Counts the given records in which the two sides still differ. */
  left(ids: readonly number[]): number {
    return ids.filter((id) => this.#isLive(id) !== this.#source.has(id)).length
  }

  /** Makes one comparison. If it chooses a full listing, it counts the listing's requests but makes none of them. */
  async compare(): Promise<Figures> {
    const found = await new Bisection(this).run()
    if (found.method === 'listing') this.requests += fullCost(this.#source.count(this.#source.size))
    return { ...found, requests: this.requests, items: this.items }
  }
}

/**
 * Lists in memory that move while they are read. Each knows the truth: what a walk has stored of it, and what it lacks.
 */
import { Skip } from '../../../src/engine/base/errors.js'
import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import { epoch } from '../../../src/engine/list/cutpoint.js'
import type { ObservedRecord } from '../../../src/engine/list/observed.js'
import type { Commit, WalkPage, WalkPlan, WalkProgress } from '../../../src/engine/list/types.js'
import { randomFrom } from './random.js'

export interface Live {
  readonly id: number
  readonly created: number
  updated: number
}

export const text = (t: number): string => fromMicros(1_700_000_000_000_000n + BigInt(t))

/** What the stored pages of a walk left for the next process. */
export class Kept {
  #progress: WalkProgress | null | undefined
  readonly #parts = new Map<number, NonNullable<Commit['part']>>()

  keep({ progress, part }: Commit): void {
    if (progress !== undefined) this.#progress = progress
    if (part) this.#parts.set(part.number, part)
  }

  /** Where a walk continues. Parts that no progress names belong to a commit that was not kept. */
  get resume(): Pick<WalkPlan, 'resume'> {
    const progress = this.#progress
    if (!progress) return {}
    const parts = [...this.#parts.values()].filter(({ number }) => number <= progress.part)
    return {
      resume: {
        progress,
        ids: parts.flatMap(({ ids }) => ids),
        entered: parts.flatMap(({ entered }) => entered),
      },
    }
  }
}
const timeOf = (t: string): number => Number(toMicros(t) - 1_700_000_000_000_000n)

/** The source: a list that moves, and what the walk has stored of it. */
export class World {
  readonly live = new Map<number, Live>()
  readonly stored = new Map<number, string>()
  readonly next: () => number
  shuffle: boolean
  time = 0
  #ids = 0
  /** Whether records moved at all; an unchanged world must be proven. */
  moved = false
  /** How many responses it has been asked for. */
  requests = 0
  /** By how much a record may be late, and whether that happens. */
  readonly overlap: number
  readonly isLate: boolean
  /**
   * Came late or back with an old time; came back with a new one; was deleted without a fall of the total to show it;
   * was deleted like that as another came late.
   */
  readonly late = new Set<number>()
  returned = 0
  masked = 0
  exchanged = 0
  readonly #buried: Live[] = []
  #total = 0
  #deleted = false
  #hasLate = false
  /** Ceilings of first pages that didn't show everything that may be late. */
  readonly wide = new Set<string>()

  constructor(seed: number, count: number, ties: number, overlap = 0) {
    this.next = randomFrom(seed)
    this.overlap = overlap
    this.isLate = overlap > 0
    this.shuffle = this.next() < 0.5
    for (let i = 0; i < count; i++) {
      if (this.next() >= ties) this.time += 1 + Math.floor(this.next() * 3)
      this.create()
    }
  }

  create(): void {
    const id = ++this.#ids
    this.live.set(id, { id, created: this.time, updated: this.time })
  }

  #pick(): Live | undefined {
    const all = [...this.live.values()]
    return all[Math.floor(this.next() * all.length)]
  }

  move(): void {
    this.moved = true
    this.time++
    if (this.isLate && this.next() < 0.3) {
      this.arrive()
      return
    }
    const dice = this.next()
    const one = this.#pick()
    if (dice < 0.3 || !one) this.create()
    else if (dice < 0.6) one.updated = this.time
    else if (dice < 0.85) this.#remove(one.id)
    else if (dice < 0.93) for (let i = 0; i < 7; i++) this.#remove(this.#pick()?.id ?? 0)
    else {
      // Created and deleted between two requests, so that the totals agree.
      this.create()
      this.#remove(one.id)
    }
  }

  #remove(id: number): void {
    const one = this.live.get(id)
    if (!one) return
    this.live.delete(id)
    this.#buried.push(one)
    this.#deleted = true
  }

  /** A record older than now becomes visible; often as another is deleted, so that the totals agree. */
  arrive(): void {
    const past = this.time - Math.floor(this.next() * this.overlap)
    const buried = this.#buried.findIndex(({ updated }) => updated > this.time - this.overlap)
    const dice = this.next()
    if (dice < 0.2 && buried >= 0) {
      for (const back of this.#buried.splice(buried, 1)) this.#late(back)
    } else if (dice < 0.3) {
      const back = this.#buried.pop()
      if (!back) return
      this.returned++
      this.live.set(back.id, { ...back, updated: this.time })
    } else if (dice < 0.4) {
      this.#late({ id: ++this.#ids, created: past, updated: this.time })
    } else {
      // Bulk work gives everything it makes the same time.
      const top = this.list(epoch)[0]?.updated ?? 0
      const updated = this.next() < 0.5 && top > this.time - this.overlap ? top : past
      this.#late({ id: ++this.#ids, created: updated, updated })
    }
    if (this.next() < 0.8) this.#remove(this.#pick()?.id ?? 0)
  }

  #late(record: Live): void {
    this.live.set(record.id, record)
    this.late.add(record.id)
    this.#hasLate = true
  }

  /** Before a response: whether something was deleted since the previous one without a fall to show it. */
  look(): void {
    const isMasked = this.#deleted && this.live.size >= this.#total
    if (isMasked) this.masked++
    if (isMasked && this.#hasLate) this.exchanged++
    this.#deleted = false
    this.#hasLate = false
    this.#total = this.live.size
  }

  nextFloor = (ceiling: string): string => (this.isLate ? text(timeOf(ceiling) - this.overlap) : ceiling)

  list(floor: string): Live[] {
    const above = [...this.live.values()].filter((record) => text(record.updated) > floor)
    const order = new Map(above.map((record) => [record.id, this.shuffle ? this.next() : record.id]))
    return above.sort((a, b) => b.updated - a.updated || (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0))
  }

  page(floor: string, page: number, perPage: number): WalkPage<Live[]> {
    const all = this.list(floor)
    const part = all.slice((page - 1) * perPage, page * perPage).map((record) => ({ ...record }))
    const top = part[0] && text(part[0].updated)
    if (top && perPage > 1 && page === 1 && part.every(({ updated }) => text(updated) > this.nextFloor(top)))
      this.wide.add(top)
    return {
      total: all.length,
      page,
      totalPages: Math.ceil(all.length / perPage),
      records: part.length,
      clocks: { source: text(this.time), own: text(this.time) },
      observed: part.map(
        ({ id, created, updated }): ObservedRecord => ({
          id,
          createdAt: text(created),
          updatedAt: text(updated),
        }),
      ),
      payload: part,
    }
  }

  store(part: readonly Live[]): (id: number | bigint) => string | undefined {
    const before = new Map(this.stored)
    for (const { id, updated } of part) {
      const version = text(updated)
      if (version >= (this.stored.get(id) ?? '')) this.stored.set(id, version)
    }
    return (id) => before.get(Number(id))
  }

  /** How many live records at or before the watermark the walk hasn't stored in that version. */
  missing(watermark: string | null, floor: string): number {
    return this.#missed(watermark, floor).length
  }

  /** Whether each of them shares its time with others, and the source changes their order. */
  mayBeHidden(watermark: string | null, floor: string): boolean {
    const times = [...this.live.values()].map(({ updated }) => updated)
    const isTied = ({ updated }: Live): boolean => times.filter((time) => time === updated).length > 1
    return this.shuffle && this.#missed(watermark, floor).every(isTied)
  }

  #missed(watermark: string | null, floor: string): readonly Live[] {
    return [...this.live.values()].filter(({ id, updated }) => {
      const version = text(updated)
      // The next walk reads late records again, because its floor is older.
      if (this.late.has(id) && watermark !== null && version > this.nextFloor(watermark)) return false
      return watermark !== null && version > floor && version <= watermark && this.stored.get(id) !== version
    })
  }
}

/**
 * An old group with one time in any order, a few later records, and hardly anything except swaps of seen records for
 * late ones.
 */
export class Exchange extends World {
  constructor(seed: number, count: number, _ties: number, overlap: number) {
    super(seed, count, 1, overlap)
    this.shuffle = true
    for (let n = Math.floor(this.next() * 4); n > 0; n--) {
      this.time += 1 + Math.floor(this.next() * overlap)
      this.create()
    }
  }

  override move(): void {
    if (this.next() < 0.2) super.move()
    else {
      this.time++
      this.moved = true
      this.arrive()
    }
  }
}

const counts = ['true', 'none', 'capped', 'low', 'page'] as const

/** A source that serves short pages, counts wrongly or not at all, and answers past the end in its own way. */
export class Paged extends World {
  /** The most records per page. */
  readonly most: number
  readonly count: (typeof counts)[number]
  readonly #cap: number
  #wasAboveCap = false
  #fellBelowCap = false
  readonly beyond: 'empty' | 'last' | 'refused'

  constructor(seed: number, count: number, ties: number, overlap: number) {
    super(seed, count, ties, overlap)
    this.count = counts[Math.floor(this.next() * counts.length)] ?? 'true'
    this.most = this.next() < 0.3 ? 100 : 2 + Math.floor(this.next() * 5)
    this.#cap = 1 + Math.floor(this.next() * 40)
    this.beyond = (['empty', 'last', 'refused'] as const)[Math.floor(this.next() * 3)] ?? 'empty'
  }

  #total(all: number, shown: number): number {
    if (this.count === 'capped') return Math.min(this.#cap, all)
    if (this.count === 'low') return Math.max(0, all - 1 - (this.#cap % 20))
    return this.count === 'page' ? shown : all
  }

  /**
   * A source that serves less than requested and counts only that looks like one with a short list. A list that falls
   * below the cap of its count looks like one that lost fewer records.
   */
  get isHopeless(): boolean {
    if (this.#fellBelowCap) return true
    return this.most < 5 && this.live.size > this.most && this.#total(this.live.size, this.most) === this.most
  }

  override page(floor: string, page: number, perPage: number): WalkPage<Live[]> {
    const all = this.list(floor).length
    const size = Math.min(perPage, this.most)
    const last = Math.max(1, Math.ceil(all / size))
    if (page > last && this.beyond === 'refused') throw new Skip('no such page', { reason: 'absent' })
    const shown = super.page(floor, page > last && this.beyond === 'last' ? last : page, size)
    const total = this.#total(all, shown.records)
    this.#wasAboveCap ||= this.count === 'capped' && all > this.#cap
    this.#fellBelowCap ||= this.#wasAboveCap && all < this.#cap
    const isUncounted = this.count === 'none'
    return {
      ...shown,
      page,
      total,
      totalPages: Math.ceil(total / perPage),
      ...(isUncounted && { isUncounted }),
    }
  }
}

/** Only new records, each well after the previous one. */
export class Steady extends World {
  override move(): void {
    this.time += 10
    this.create()
  }
}

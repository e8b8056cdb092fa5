/**
 * Lists in memory that move while they are read. Each knows the truth: what a walk has stored of it, and what it lacks.
 */
import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import type { ObservedRecord } from '../../../src/engine/list/observed.js'
import type {
  Commit,
  List,
  Store,
  WalkOutcome,
  WalkPage,
  WalkPlan,
  WalkProgress,
} from '../../../src/engine/list/types.js'
import { walk } from '../../../src/engine/list/walk.js'
import { randomFrom } from './random.js'

export interface Live {
  readonly id: number
  readonly created: number
  updated: number
}

export const text = (t: number): string => fromMicros(1_700_000_000_000_000n + BigInt(t))

/** How a list is read, and how likely something moves before each response. */
export interface Setting {
  readonly motion: number
  /** Pages that are requested before the one in hand is stored. */
  readonly ahead: number
  readonly pageSizes: readonly number[]
  /** What happens while its reader is dead. */
  readonly meanwhile?: () => void
}

const dies = new Error('the process dies')

/** What the stored pages of a walk left for the next process. */
class Kept {
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
export const timeOf = (t: string): number => Number(toMicros(t) - 1_700_000_000_000_000n)

/** The source: a list that moves, and what the walk has stored of it. */
export class World {
  readonly live = new Map<number, Live>()
  readonly stored = new Map<number, string>()
  readonly next: () => number
  shuffle: boolean
  time = 0
  /** Whether records moved at all; an unchanged world must be proven. */
  moved = false
  /** How many responses it has been asked for. */
  requests = 0
  #ids = 0

  constructor(seed: number, count: number, ties: number) {
    this.next = randomFrom(seed)
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
    const dice = this.next()
    const one = this.#pick()
    if (dice < 0.3 || !one) this.create()
    else if (dice < 0.6) one.updated = this.time
    else if (dice < 0.85) this.live.delete(one.id)
    else if (dice < 0.93) for (let i = 0; i < 7; i++) this.live.delete(this.#pick()?.id ?? 0)
    else {
      // Created and deleted between two requests, so that the totals agree.
      this.create()
      this.live.delete(one.id)
    }
  }

  /** The list as a reader reaches it. `diesAt`: before that request, the reader's process dies. */
  reached(floor: string, { motion, ahead }: Setting, diesAt = 0): List<Live[]> {
    let requests = 0
    const look = async <T>(see: () => T): Promise<T> => {
      this.requests++
      if (++requests === diesAt) throw dies
      for (let ticks = Math.floor(this.next() * 6); ticks > 0; ticks--) await Promise.resolve()
      while (this.next() < motion) this.move()
      return see()
    }
    return {
      fetch: (page, perPage) => look(() => this.page(floor, page, perPage)),
      countAfter: (t) => look(() => this.list(t < floor ? floor : t).length),
      readAhead: () => ahead,
      note: () => {},
    }
  }

  /**
   * Walks it. `within`: dies once, at one of its first so many requests, and another process continues with what is stored.
   */
  async walked(
    floor: string,
    setting: Setting,
    within = 0,
    more: Partial<WalkPlan> = {},
  ): Promise<WalkOutcome> {
    const kept = new Kept()
    const store: Store<Live[]> = async (page, mark) => {
      await Promise.resolve()
      kept.keep(mark)
      return this.store(page.payload)
    }
    let diesAt = within > 0 ? 2 + Math.floor(this.next() * within) : 0
    for (;;) {
      try {
        const plan = { floor, pageSizes: setting.pageSizes, ...more, ...kept.resume }
        return await walk(this.reached(floor, setting, diesAt), store, plan)
      } catch (error) {
        if (error !== dies) throw error
        diesAt = 0
        while (this.next() < setting.motion) this.move()
        setting.meanwhile?.()
      }
    }
  }

  list(floor: string): Live[] {
    const above = [...this.live.values()].filter((record) => text(record.updated) > floor)
    const order = new Map(above.map((record) => [record.id, this.shuffle ? this.next() : record.id]))
    return above.sort((a, b) => b.updated - a.updated || (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0))
  }

  page(floor: string, page: number, perPage: number): WalkPage<Live[]> {
    const all = this.list(floor)
    const part = all.slice((page - 1) * perPage, page * perPage).map((record) => ({ ...record }))
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
    return [...this.live.values()].filter(({ id, updated }) => {
      const version = text(updated)
      return watermark !== null && version > floor && version <= watermark && this.stored.get(id) !== version
    }).length
  }
}

export const pick = <T>(next: () => number, some: readonly T[]): T =>
  some[Math.floor(next() * some.length)] as T

/** Lists in a wrong order, records twice or not at all, totals that jump, and places that can't be read. */
export class Odd extends World {
  readonly #order: 'newest' | 'oldest' | 'id'
  readonly #twice: number
  readonly #hidden: number
  readonly #jumps: boolean
  readonly #readable: number
  readonly #hole: number

  constructor(seed: number, count: number, ties: number) {
    super(seed, count, ties)
    this.shuffle = this.next() < 0.2
    this.#order = pick(this.next, ['newest', 'newest', 'newest', 'oldest', 'id'])
    this.#twice = this.next() < 0.4 ? 1 + Math.floor(this.next() * 9) : 0
    this.#hidden = this.next() < 0.4 ? 1 + Math.floor(this.next() * 3) : 0
    this.#jumps = this.next() < 0.15
    this.#readable = this.next() < 0.15 ? 3 : 100
    this.#hole = this.next() < 0.15 ? 1 + Math.floor(this.next() * 20) : 0
  }

  override list(floor: string): Live[] {
    const all = super.list(floor)
    if (this.#order === 'oldest') all.reverse()
    if (this.#order === 'id') all.sort((a, b) => ((a.id * 7) % 23) - ((b.id * 7) % 23) || a.id - b.id)
    const again = all[this.#twice]
    return this.#twice > 0 && again ? [...all.slice(0, -1), again, ...all.slice(-1)] : all
  }

  override page(floor: string, page: number, perPage: number): WalkPage<Live[]> {
    const shown = super.page(floor, page, perPage)
    const total = shown.total + this.#hidden + (this.#jumps && this.next() < 0.5 ? 2 : 0)
    const holes = shown.observed
      .filter(({ id }) => id === this.#hole)
      .map(({ updatedAt }) => ({ after: updatedAt, until: updatedAt, records: 1 }))
    return {
      ...shown,
      total,
      observed: shown.observed.map((one) =>
        one.id === this.#hole ? { ...one, id: `~${one.updatedAt} 0`, createdAt: null } : one,
      ),
      totalPages: Math.ceil(total / perPage),
      goesOn: this.next() < 0.05,
      holes: holes.length > 0 ? holes : undefined,
      readable: perPage > this.#readable ? this.#readable : undefined,
    }
  }
}

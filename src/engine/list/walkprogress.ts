/**
 * Progress within a walk, from which a killed walk resumes (docs/dev/architecture.md, Why a walk can be complete). The
 * first reading of a walk keeps it; beginwalk.ts asks how far it had come.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Book } from './books.js'
import { oldest } from './observed.js'
import type { Commit, ListHead, WalkPage, WalkProgress } from './types.js'

/** How far a walk had come when it was cut short. `tied`: it isn't known which ties an unfinished burst hid. */
export function reached({ ahead, ...progress }: WalkProgress, head: ListHead): WalkProgress {
  if (ahead?.newest !== head.newest || ahead.total !== head.total) return progress
  return { ...progress, boundary: ahead.boundary, below: ahead.below, tied: true }
}

/** Follows one reading, and gives each page the commit that a resumed walk needs. */
export class Progress {
  #part: number
  #entered: Int64[] = []
  #ahead: WalkProgress['ahead']
  /** The depth to which the list has been read. undefined until a page has been read in order. */
  #reached: WalkProgress | undefined

  constructor(
    private readonly book: Book,
    private readonly size: { readonly perPage: number; readonly most?: number | undefined },
    resumed?: WalkProgress,
  ) {
    this.#reached = resumed
    this.#part = resumed?.part ?? 0
  }

  /** The list has been read down to this page: a resumed walk may begin behind it. */
  vouch(page: WalkPage<unknown>): void {
    const { floor, ceiling, ties, doubts } = this.book
    const { first, last, fallen } = this.book.balance()
    const tied = ties.found
    this.#ahead = undefined
    const part = this.#part
    const { most: size } = this.size
    this.#reached = {
      floor,
      ceiling,
      first,
      last,
      fallen,
      tied,
      doubts,
      ...this.#depth(page),
      part,
      size,
    }
  }

  /** A page of a burst. It counts if a resumed walk finds the head of the list unchanged. */
  burst(page: WalkPage<unknown>, before: ListHead): void {
    this.#ahead = page.total === before.total ? { ...before, ...this.#depth(page) } : undefined
  }

  stopProgress(): void {
    this.#ahead = undefined
  }

  entered(ids: readonly Int64[]): void {
    this.#entered.push(...ids)
  }

  commit(ids: readonly Int64[]): Commit {
    const number = ++this.#part
    const part = { number, ids, entered: this.#entered.splice(0) }
    if (!this.#reached) return { part }
    this.#reached = { ...this.#reached, doubts: this.book.doubts, part: number }
    return { progress: { ...this.#reached, ahead: this.#ahead }, part }
  }

  /** The depth of a page in the list. */
  #depth(page: WalkPage<unknown>): Pick<WalkProgress, 'boundary' | 'below'> {
    return {
      boundary: oldest(page.observed) || (this.#reached?.boundary ?? this.book.ceiling),
      below: Math.max(0, page.total - page.page * this.size.perPage),
    }
  }
}

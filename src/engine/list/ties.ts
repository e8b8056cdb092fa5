/**
 * Ties: records of one `updated_at`, which have no order among themselves, so pages may hide some of them. books.ts
 * checks which ties are in doubt before it calls a walk complete.
 */
import { newest, oldest } from './observed.js'
import type { WalkPage } from './types.js'

/** The newest and the oldest `updated_at` of a response, and whether the list continues beyond the response. */
export interface Edges {
  readonly newest: string
  readonly oldest: string
  /** The response shows the beginning of the list. */
  readonly isTop: boolean
  /** The response shows the end of the list. */
  readonly isEnd: boolean
}

/**
 * Finds ties that two responses share. The source may show one tied record twice and another never. Each response
 * begins at or before the end of the previous response, because the walk steps back when the total falls. So a tie is
 * whole in one response, unless one response ends in the tie and the next begins in or before it. A doubtful tie stays
 * doubtful until a response shows the tie with newer and older records around it (docs/dev/architecture.md, Why a walk can
 * be complete).
 */
export class TieWatch {
  /** Doubtful times. Empty for one that an earlier process met. */
  readonly #doubtful = new Set<string>()
  #end: string
  /**
   * The last response showed the beginning of its final tie: the tie is whole if the next response begins behind it.
   */
  #isFinalWhole = false
  #held: Edges[] = []

  constructor(end: string, found: boolean) {
    this.#end = end
    if (found) this.#doubtful.add('')
  }

  get found(): boolean {
    return this.#doubtful.size > 0
  }

  /** Whether a tie at that time or older is in doubt. */
  foundUpTo(time: string): boolean {
    return [...this.#doubtful].some((doubtful) => doubtful <= time)
  }

  /** Whether records with this `updated_at` may be hidden. */
  doubts(time: string): boolean {
    return this.#doubtful.has(time)
  }

  /** Takes the next response in order. */
  follow(edges: Edges): void {
    this.#held = []
    // Behind the end of the list, a response that is read once more says nothing about what an earlier process met.
    if (this.#end !== '') {
      if (edges.newest >= this.#end) this.#doubtful.add(this.#end)
      else if (this.#isFinalWhole) this.#doubtful.delete(this.#end)
    }
    this.glimpse(edges)
    this.#isFinalWhole = edges.isTop || edges.newest > edges.oldest
    this.#end = edges.isEnd ? '' : edges.oldest
  }

  /** Keeps a response of a burst until the burst is known to be in order. */
  hold(edges: Edges): void {
    this.#held.push(edges)
  }

  dropHeld(): void {
    this.#held = []
  }

  followHeld(): void {
    for (const edges of this.#held.splice(0)) this.follow(edges)
  }

  /** Takes a response out of order: such a response can settle doubts but can't raise any. */
  glimpse({ newest, oldest, isTop, isEnd }: Edges): void {
    for (const time of this.#doubtful) {
      const isBehindFirst = time < newest || (isTop && time === newest)
      const isBeforeLast = time > oldest || (isEnd && time === oldest)
      if (time !== '' && isBehindFirst && isBeforeLast) this.#doubtful.delete(time)
    }
  }
}

export function edgesOf<P>({ observed, page, totalPages }: WalkPage<P>): Edges | undefined {
  const top = newest(observed)
  if (top === '') return undefined
  const low = oldest(observed)
  return {
    newest: top,
    oldest: low,
    isTop: page === 1,
    isEnd: page >= totalPages,
  }
}

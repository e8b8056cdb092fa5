/**
 * Ties: records of one `updated_at`, which have no order among themselves, so that pages may hide some of them.
 * Book (books.ts) asks which ties are in doubt before it calls a walk complete.
 */
import type { Int64 } from '../../schema/resource.js'
import { newest, oldest } from './sightings.js'
import type { WalkPage } from './types.js'

/** The newest and the oldest `updated_at` of a response, and whether the list goes on beyond the response. */
export interface Edges {
  readonly newest: string
  readonly oldest: string
  /** The response shows the beginning of the list. */
  readonly isTop: boolean
  /** The response shows the end of the list. */
  readonly isEnd: boolean
  /** Ids that carry the newest time and the oldest time: at most two of each. */
  readonly first: readonly (Int64 | string)[]
  readonly final: readonly (Int64 | string)[]
}

/**
 * Finds ties that two responses share. The source may show one tied record twice and another never. Each response
 * begins at or before the end of the response before, because the walk steps back when the total falls. So a tie is
 * whole in one response, unless one response ends in the tie and the next begins in or before it. A doubtful tie stays
 * doubtful until a response shows the tie with newer and older records around it
 * (docs/architecture.md, Records of one updated_at).
 */
export class TieWatch {
  /** Doubtful times. true: two records share the time. false: one record, which the next response showed again. */
  readonly #doubtful = new Map<string, boolean>()
  #end: string
  #final: Edges['final'] = []
  /** The last response showed the beginning of its final tie: the tie is whole if the next response begins behind it. */
  #isFinalWhole = false
  #held: Edges[] = []

  constructor(end: string, found: boolean) {
    this.#end = end
    if (found) this.#doubtful.set('', true)
  }

  get found(): boolean {
    return this.#doubtful.size > 0
  }

  /** Whether records are known to share a doubtful time. */
  get areKnown(): boolean {
    return [...this.#doubtful.values()].includes(true)
  }

  /** Whether records of this `updated_at` may be hidden. */
  doubts(time: string): boolean {
    return this.#doubtful.has(time)
  }

  /** Takes the next response in order. */
  follow(edges: Edges): void {
    this.#held = []
    if (this.#end !== '' && edges.newest >= this.#end) this.#doubt(edges)
    else if (this.#isFinalWhole) this.#doubtful.delete(this.#end)
    this.glimpse(edges)
    this.#isFinalWhole = edges.isTop || edges.newest > edges.oldest
    this.#end = edges.isEnd ? '' : edges.oldest
    this.#final = edges.final
  }

  #doubt({ newest, oldest, first, final }: Edges): void {
    const end = this.#end
    const ids = new Set([...this.#final, ...(newest === end ? first : []), ...(oldest === end ? final : [])])
    this.#doubtful.set(end, ids.size > 1 || this.#doubtful.get(end) === true)
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

  /** Takes a response out of order: such a response can settle doubts and cannot raise them. */
  glimpse({ newest, oldest, isTop, isEnd }: Edges): void {
    for (const time of this.#doubtful.keys()) {
      const isBehindFirst = time < newest || (isTop && time === newest)
      const isBeforeLast = time > oldest || (isEnd && time === oldest)
      if (time !== '' && isBehindFirst && isBeforeLast) this.#doubtful.delete(time)
    }
  }
}

export function edgesOf<P>({ sightings, page, totalPages }: WalkPage<P>): Edges | undefined {
  const top = newest(sightings)
  if (top === '') return undefined
  const low = oldest(sightings)
  const two = (time: string): Edges['first'] =>
    sightings
      .filter(({ updatedAt }) => updatedAt === time)
      .slice(0, 2)
      .map(({ id }) => id)
  return {
    newest: top,
    oldest: low,
    isTop: page === 1,
    isEnd: page >= totalPages,
    first: two(top),
    final: two(low),
  }
}

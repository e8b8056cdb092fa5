import type { Int64 } from '../../schema/resource.js'
import type { Sighting } from './books.js'

/** A response, as far as its times go. */
interface Shown {
  readonly page: number
  readonly totalPages: number
  readonly sightings: readonly Sighting[]
}

/** Where the `updated_at`s of a response begin and end, and whether the list goes on beyond it. */
export interface Edges {
  readonly newest: string
  readonly oldest: string
  /** Nothing of the list lies in front of it. */
  readonly isTop: boolean
  /** Nothing of the list lies behind it. */
  readonly isEnd: boolean
  /** Ids that carry the newest time and the oldest: two of each at most. */
  readonly first: readonly (Int64 | string)[]
  readonly final: readonly (Int64 | string)[]
}

/**
 * Finds records of one `updated_at` that two responses have between them. They have no order among themselves: the
 * source may show one of them twice and another never. Responses follow one another so that each begins at or before
 * the place where the one before ended (that is what stepping back is for). Then a group of equal times is whole in
 * one response unless it is the last of one and the first of the next, or the next begins in front of it; what is
 * doubtful stays so until some response shows it with newer and older records around it.
 */
export class TieWatch {
  /** By time; whether two records were seen to share it, or only one that the next response showed again. */
  readonly #doubtful = new Map<string, boolean>()
  #end: string
  #final: Edges['final'] = []
  /** The response before showed where the group began that it ended with: the group is whole if the next goes on behind it. */
  #isFinalWhole = false
  #held: Edges[] = []

  constructor(end: string, found: boolean) {
    this.#end = end
    if (found) this.#doubtful.set('', true)
  }

  get found(): boolean {
    return this.#doubtful.size > 0
  }

  /** Whether records are known to share a time, some of which may be hidden. */
  get areKnown(): boolean {
    return [...this.#doubtful.values()].includes(true)
  }

  /** Whether records of this `updated_at` may be hidden. */
  doubts(time: string): boolean {
    return this.#doubtful.has(time)
  }

  /** The next response in order. */
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

  /** A response of a window, of which it is not yet known whether it is in order. */
  hold(edges: Edges): void {
    this.#held.push(edges)
  }

  dropHeld(): void {
    this.#held = []
  }

  followHeld(): void {
    for (const edges of this.#held.splice(0)) this.follow(edges)
  }

  /** A response out of order: it can dispel doubts, not raise them. */
  glimpse({ newest, oldest, isTop, isEnd }: Edges): void {
    for (const time of this.#doubtful.keys())
      if (
        time !== '' &&
        (isTop || time < newest) &&
        (isEnd || time > oldest) &&
        time <= newest &&
        time >= oldest
      )
        this.#doubtful.delete(time)
  }
}

/** Newest `updated_at` of a page; empty when there is none. */
export const newest = (sightings: readonly Sighting[]): string =>
  sightings.reduce((top, { updatedAt }) => (updatedAt > top ? updatedAt : top), '')

/** Oldest `updated_at` of a page; empty when there is none. */
export const oldest = (sightings: readonly Sighting[]): string =>
  sightings.reduce(
    (low, { updatedAt }) => (updatedAt !== '' && (low === '' || updatedAt < low) ? updatedAt : low),
    '',
  )

export function edgesOf({ sightings, page, totalPages }: Shown): Edges | undefined {
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

/**
 * How many records the source really puts on a page. It may serve fewer than requested, so a page shorter than
 * requested doesn't end a list. A walk or a range learns the size from the first page; memory.ts keeps it with the
 * cursor.
 */
import type { WalkPage } from './types.js'

/**
 * Page sizes of the readings. They are coprime, so each reading cuts the records of one `updated_at` at other places.
 */
export const pageSizes = [100, 97, 89, 83, 79] as const

export const largestOf = (sizes: readonly number[]): number => sizes[0] ?? pageSizes[0]

/**
 * The sizes in which a page that never arrives is read, largest first. If all that arrives is of one size, later walks
 * request pages of that size, however small: asking for what never comes costs more in every run than small pages do.
 */
export const smallerSizes = [50, 25, 10, 5, 2, 1] as const

/** The next size to try once pages of `size` are read, up to the usual one. */
export const nextLarger = (size: number, usual: number): number =>
  Math.min(usual, smallerSizes.findLast((larger) => larger > size) ?? usual)

/** A smaller page costs too many requests for what another cut may find. */
const smallestShare = 0.5

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Page sizes for a source whose pages hold at most `most` records: as far apart as the usual ones, and as coprime. */
export function sizesUpTo(most: number, usual: readonly number[] = pageSizes): readonly number[] {
  const [largest = most] = usual
  if (most >= largest) return usual
  const sizes = [most]
  for (const size of usual.slice(1)) {
    let next = Math.min(Math.floor((most * size) / largest), (sizes.at(-1) ?? most) - 1)
    while (sizes.some((other) => gcd(other, next) > 1)) next--
    if (next >= most * smallestShare) sizes.push(next)
  }
  return sizes
}

/**
 * No server limits pages to such a small share of the request: such a page is short because it doesn't show some
 * records. Reading in pages of its size would take too many requests.
 */
const smallestLimit = 0.1

/**
 * The page size according to the first page: the number of records it shows, if that is fewer than requested while the
 * source counts more or doesn't count. A wrong guess costs requests and loses nothing, because the list is then
 * requested in pages of that size. `hidden`: records known to be counted but not shown, which may be why the page is
 * short.
 */
export function servedSize(
  { total, records, isUncounted }: Pick<WalkPage<unknown>, 'total' | 'records' | 'isUncounted'>,
  perPage: number,
  hidden = 0,
): number | undefined {
  const short = perPage - records
  if (short <= 0 || records < perPage * smallestLimit) return undefined
  if (isUncounted) return records
  return short > hidden && total - records > hidden ? records : undefined
}

/** Common limits of servers: until the size is learned, a list of exactly this many records may continue. */
export const usualLimits: ReadonlySet<number> = new Set([30, 50, 100])

/** The page sizes of one walk, and what it has learned about them. */
export class PageSize {
  #most: number | undefined
  #learned: number | null | undefined

  /** `known`: what earlier walks have learned. `isWhole`: the walk finds out again, without an extra request. */
  constructor(
    private readonly usual: readonly number[],
    private readonly known: number | undefined,
    private readonly isWhole: boolean,
  ) {
    this.#most = isWhole ? undefined : known
  }

  get sizes(): readonly number[] {
    return this.#most === undefined ? this.usual : sizesUpTo(this.#most, this.usual)
  }

  /** The size of a reading, by its number from 1. */
  of(number: number): number {
    return this.sizes[(number - 1) % this.sizes.length] ?? 100
  }

  /** The size at which a page is full. undefined if no page has shown yet that the source serves less. */
  get most(): number | undefined {
    return this.#most
  }

  /** What to remember: a size; null if the known one is no longer true; undefined if nothing was learned. */
  get learned(): number | null | undefined {
    return this.#learned
  }

  /** Reads pages of that size, without knowing whether the source would serve more. */
  use(size: number): void {
    this.#most = size
  }

  /** The source serves this many. */
  learn(size: number): void {
    this.#most = size
    this.#learned = size
  }

  /** Checks whether a page has more records than the source was thought to serve, or can't be read at its size. */
  watch({ records, readable }: Pick<WalkPage<unknown>, 'records' | 'readable'>): void {
    if (readable !== undefined) this.#most = Math.min(readable, this.#most ?? readable)
    if (this.known !== undefined && records > this.known && this.#learned === undefined) this.#learned = null
  }

  /** Whether another page may follow this one, whatever the total says. */
  isFull({ records, page, goesOn }: WalkPage<unknown>, perPage: number): boolean {
    if (records === 0) return false
    const known = this.#most ?? (this.#learned === null ? perPage : this.known)
    if (records >= Math.min(perPage, known ?? perPage)) return true
    return (
      this.isWhole && (goesOn === true || (page === 1 && known === undefined && usualLimits.has(records)))
    )
  }
}

/** Some sources answer with their last page again and again past the end. Three in a row aren't a list that moves. */
const mostRepeats = 3

const nameOf = ({ observed }: WalkPage<unknown>): string => observed.map(({ id }) => id).join()

/** Detects a source that answers every page past the end with the same one: its last or its first. */
export class Repeats {
  #first: string | undefined
  #last = ''
  #page = 0
  #count = 0

  get areMany(): boolean {
    return this.#count >= mostRepeats
  }

  /** Whether the latest page shows the same as the one before it, or as the very first. */
  get isOne(): boolean {
    return this.#count > 0
  }

  /** Whether a page would be a repeat. A page that is read again isn't one. */
  has(page: WalkPage<unknown>): boolean {
    const name = nameOf(page)
    return name !== '' && page.page > this.#page && (name === this.#last || name === this.#first)
  }

  take(page: WalkPage<unknown>): void {
    this.#count = this.has(page) ? this.#count + 1 : 0
    this.#last = nameOf(page)
    this.#first ??= this.#last
    this.#page = page.page
  }
}

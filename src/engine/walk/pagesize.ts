/**
 * How many records the source really puts on a page. It may serve fewer than are asked for, so that a page shorter than
 * asked ends no list. Whoever reads a list learns the size from the first page; memory.ts keeps it with the cursor.
 */
import type { WalkPage } from './types.js'

/** Page sizes of the readings: coprime, so that each reading cuts the records of one `updated_at` at other places. */
export const pageSizes = [100, 97, 89, 83, 79] as const

/** A smaller page costs too many requests for what another cut may bring. */
const smallestShare = 0.5

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Page sizes where a page holds so many records at most: as far apart as the usual ones, and as coprime. */
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
 * No server serves so little of what it is asked for: such a page is short of records that it does not show. Pages of its
 * size would be many.
 */
const smallestLimit = 0.1

type FirstPage = Pick<WalkPage<unknown>, 'total' | 'records' | 'isUncounted'>

/**
 * The size of the pages, by the first of them: what it shows, where it is shorter than asked while the source counts more
 * records, or counts none. A wrong guess costs requests and loses nothing, because the list is then asked for in pages of
 * that size. `hidden`: records that are counted and known not to be shown, which may be what the page is short of.
 */
export function servedSize(
  { total, records, isUncounted }: FirstPage,
  perPage: number,
  hidden = 0,
): number | undefined {
  const short = perPage - records
  if (short <= 0 || records < perPage * smallestLimit) return undefined
  if (isUncounted) return records
  return short > hidden && total - records > hidden ? records : undefined
}

/** Limits that servers often have: until the size is learned, a list of just so many records may go on. */
export const usualLimits: ReadonlySet<number> = new Set([30, 50, 100])

/** The page sizes of one walk, and what it has learned of them. */
export class PageSize {
  #most: number | undefined
  #learned: number | null | undefined

  /** `known`: what earlier walks have learned. `isWhole`: the walk finds out again, at no request more. */
  constructor(
    private readonly usual: readonly number[],
    private readonly known: number | undefined,
    private readonly isWhole: boolean,
  ) {
    this.#most = isWhole ? undefined : known
  }

  /** The sizes of the readings. */
  get sizes(): readonly number[] {
    return this.#most === undefined ? this.usual : sizesUpTo(this.#most, this.usual)
  }

  /** The size by which a page has to be full; undefined where no page has shown yet that the source serves less. */
  get most(): number | undefined {
    return this.#most
  }

  /** What is to be remembered: a size, null where the known one is no longer true, undefined where nothing was learned. */
  get learned(): number | null | undefined {
    return this.#learned
  }

  /** Pages of that size are read; whether the source would serve more is not known. */
  use(size: number): void {
    this.#most = size
  }

  /** The source serves so many. */
  learn(size: number): void {
    this.#most = size
    this.#learned = size
  }

  /** Looks at a page of the list for more records than the source was thought to serve. */
  watch({ records }: Pick<WalkPage<unknown>, 'records'>): void {
    if (this.known !== undefined && records > this.known && this.#learned === undefined) this.#learned = null
  }

  /** Whether a page may be followed by another, whatever the total says. */
  isFull({ records, page, goesOn }: WalkPage<unknown>, perPage: number): boolean {
    if (records === 0) return false
    const known = this.#most ?? (this.#learned === null ? perPage : this.known)
    if (records >= Math.min(perPage, known ?? perPage)) return true
    return (
      this.isWhole && (goesOn === true || (page === 1 && known === undefined && usualLimits.has(records)))
    )
  }
}

/** The last page again and again: some sources answer so behind the end. Three in a row are no list that moves. */
const mostRepeats = 3

type ShownPage = Pick<WalkPage<unknown>, 'page' | 'observed'>

const nameOf = ({ observed }: ShownPage): string => observed.map(({ id }) => id).join()

/** Notices a source that answers every page behind the end with one and the same: its last, or its first. */
export class Repeats {
  #first: string | undefined
  #last = ''
  #page = 0
  #count = 0

  get areMany(): boolean {
    return this.#count >= mostRepeats
  }

  /** Whether the latest page shows the same as the one before, or as the first of all. */
  get isOne(): boolean {
    return this.#count > 0
  }

  /** Whether a page would be one. A page that is read again is none. */
  has(page: ShownPage): boolean {
    const name = nameOf(page)
    return name !== '' && page.page > this.#page && (name === this.#last || name === this.#first)
  }

  take(page: ShownPage): void {
    this.#count = this.has(page) ? this.#count + 1 : 0
    this.#last = nameOf(page)
    this.#first ??= this.#last
    this.#page = page.page
  }
}

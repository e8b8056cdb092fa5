/**
 * The page behind the end of a list, as far as the total tells where that is. Whoever reads a list asks for it where the
 * last page is full: a total may be capped, estimated, or that of the page.
 */
import { Skip } from '../base/errors.js'
import { countAnomalies } from './anomalies.js'
import type { ObservedRecord } from './observed.js'
import type { WalkPage } from './types.js'

/** undefined where the source refuses the page: some do, and show every other page. */
export async function pageBehind<P>(answer: Promise<WalkPage<P>>): Promise<WalkPage<P> | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Skip && (error.reason === 'absent' || error.reason === 'refused')) return undefined
    throw error
  }
}

export interface PagePort<P> {
  fetch(page: number, perPage: number): Promise<WalkPage<P>>
}

/** What the pages before have shown. */
export interface Seen {
  readonly has: (id: ObservedRecord['id']) => boolean
  /** Distinct records. */
  readonly distinct: number
  /** `total_count` of the response before. */
  readonly total: number
  /** Records of one time may have been shown in the place of others. */
  readonly mayHide: boolean
}

export const isNews = <P>({ observed }: WalkPage<P>, seen: Pick<Seen, 'has'>): boolean =>
  observed.some(({ id }) => !seen.has(id))

/** Places of the list up to the end of a page. */
export const placesUpTo = <P>({ page, records }: WalkPage<P>, perPage: number): number =>
  records === 0 ? 0 : (page - 1) * perPage + records

/**
 * Whether a page shows records that its own total leaves out, as a total does that is capped or estimated. A list that
 * grows is counted as it is now; one that shows fewer records on its pages than they have places counts what it shows.
 * A record that is listed twice may stand behind the end that the total tells; one that ties may have hidden, too.
 */
export function goesPastEnd<P>(page: WalkPage<P>, perPage: number, seen: Seen): boolean {
  if (placesUpTo(page, perPage) <= page.total) return false
  const isBehind = (page.page - 1) * perPage >= page.total
  // Records were deleted meanwhile: what was read of the list may be more than is left, and the page its last one again.
  if (page.total < seen.total && page.total !== page.records) return false
  const fresh = new Set(page.observed.flatMap(({ id }) => (seen.has(id) ? [] : [id]))).size
  if (fresh > 0) return seen.distinct + fresh > page.total
  return seen.mayHide && isBehind
}

/** Whether a page shows more records than its total counts: the total is not true, and no page is the last by it. */
export function isMoreThanCounted<P>({ total, observed }: WalkPage<P>): boolean {
  if (observed.length <= total) return false
  const ids = new Set(observed.map(({ id }) => id))
  return ids.size - countAnomalies(ids).repeated > total
}

/** A page behind the end, which shows that the list goes on, or that it has moved. */
export interface NextPage<P> {
  readonly page: WalkPage<P>
  /** It shows records that its total leaves out: the total is not true. */
  readonly isPastEnd: boolean
}

/**
 * Asks for the page behind the end; undefined where it shows nothing new, and the list ends. `isShownAgain`: some sources
 * answer with the last page of the list, or the first.
 */
export async function lookBehind<P>(
  port: PagePort<P>,
  { page: number, perPage }: { readonly page: number; readonly perPage: number },
  seenBefore: (page: WalkPage<P>) => Seen,
  isShownAgain: (page: WalkPage<P>) => boolean,
): Promise<NextPage<P> | undefined> {
  const look = (): Promise<WalkPage<P> | undefined> => pageBehind(port.fetch(number, perPage))
  let page = await look()
  // A record may come between the source's look at its page and its count: one such answer is a slip.
  if (page && !isShownAgain(page) && goesPastEnd(page, perPage, seenBefore(page))) page = await look()
  if (!page || isShownAgain(page)) return undefined
  const seen = seenBefore(page)
  const found = { page, isPastEnd: goesPastEnd(page, perPage, seen) }
  // Where records were deleted meanwhile, others may have slipped to where the walk has been.
  if (isNews(page, seen) || page.total < seen.total) return found
  if (!found.isPastEnd) return undefined
  // Where ties change their order, the last page again is another one: such a source answers every page.
  const next = await pageBehind(port.fetch(number + 1, perPage))
  return next && next.records > 0 && !isNews(next, seen) ? undefined : found
}

/**
 * A page of a list. Some sources refuse a page behind the end, and a list may have become shorter than it was: the answer
 * is then an empty page.
 */
export async function fetchPage<P>(port: PagePort<P>, page: number, perPage: number): Promise<WalkPage<P>> {
  const answer = page === 1 ? await port.fetch(1, perPage) : await pageBehind(port.fetch(page, perPage))
  if (answer) return answer
  const head = await port.fetch(1, 1)
  // The source refuses a page that it counts records for: that is no end.
  return (page - 1) * perPage < head.total
    ? port.fetch(page, perPage)
    : { ...head, page, records: 0, observed: [] }
}

/** Where a plain reading of a list begins: see plain.ts. */
export interface PlainBegin<P> {
  /** A walk that found its list longer than the total goes on where it ended. */
  readonly from: number
  /** The pages from there that have come already. */
  readonly pages: readonly WalkPage<P>[]
  readonly perPage: number
  /** Newest `updated_at` of the walk's first response, if that came before. */
  readonly ceiling?: string
  /** Records of the pages before. */
  readonly seen?: Seen
}

/**
 * The page after the end of a list, as far as the total shows where the end is. It is requested when the last page is
 * full, because a total may be capped, estimated, or only count the page.
 */
import { Skip } from '../base/errors.js'
import { countAnomalies } from './anomalies.js'
import type { ObservedRecord } from './observed.js'
import type { List, WalkPage } from './types.js'

/** undefined if the source refuses the page: some sources do, although they show every other page. */
export async function pageBehind<P>(answer: Promise<WalkPage<P>>): Promise<WalkPage<P> | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Skip && (error.reason === 'absent' || error.reason === 'refused')) return undefined
    throw error
  }
}

/** What the earlier pages showed. */
export interface Seen {
  readonly has: (id: ObservedRecord['id']) => boolean
  /** Distinct records. */
  readonly distinct: number
  /** `total_count` of the previous response. */
  readonly total: number
  /** Records with the same time may have been shown in place of others. */
  readonly mayHide: boolean
}

export const isNews = <P>({ observed }: WalkPage<P>, seen: Pick<Seen, 'has'>): boolean =>
  observed.some(({ id }) => !seen.has(id))

/** Places of the list up to the end of a page. */
export const placesUpTo = <P>({ page, records }: WalkPage<P>, perPage: number): number =>
  records === 0 ? 0 : (page - 1) * perPage + records

/**
 * Whether a page shows records that its own total leaves out, because the total is capped or estimated. A list that
 * grows is counted at its current length. A list that shows fewer records on its pages than they have places counts
 * what it shows. A record listed twice may be past the end that the total gives; a record in a tie may also have been
 * hidden.
 */
export function goesPastEnd<P>(page: WalkPage<P>, perPage: number, seen: Seen): boolean {
  if (placesUpTo(page, perPage) <= page.total) return false
  const isBehind = (page.page - 1) * perPage >= page.total
  // Records were deleted meanwhile, so more may have been read than is left, and this may be the last page again.
  if (page.total < seen.total && page.total !== page.records) return false
  const fresh = new Set(page.observed.flatMap(({ id }) => (seen.has(id) ? [] : [id]))).size
  if (fresh > 0) return seen.distinct + fresh > page.total
  return seen.mayHide && isBehind
}

/**
 * Whether a page shows more records than its total counts. Such a total is wrong and doesn't mark any page as the last.
 */
export function isMoreThanCounted<P>({ total, observed }: WalkPage<P>): boolean {
  if (observed.length <= total) return false
  const ids = new Set(observed.map(({ id }) => id))
  return ids.size - countAnomalies(ids).repeated > total
}

/**
 * Requests the page past the end. undefined if it shows nothing new and the list has ended. `isPastEnd`: it shows
 * records that its total leaves out, so the total is wrong. `isShownAgain`: some sources answer with the last page of
 * the list again, or with the first.
 */
export async function lookBehind<P>(
  list: Pick<List<P>, 'fetch'>,
  { page: number, perPage }: { readonly page: number; readonly perPage: number },
  seenBefore: (page: WalkPage<P>) => Seen,
  isShownAgain: (page: WalkPage<P>) => boolean,
): Promise<{ readonly page: WalkPage<P>; readonly isPastEnd: boolean } | undefined> {
  const look = (): Promise<WalkPage<P> | undefined> => pageBehind(list.fetch(number, perPage))
  let page = await look()
  // A record may arrive between the source's query for the page and its count, so a single such response is a slip.
  if (page && !isShownAgain(page) && goesPastEnd(page, perPage, seenBefore(page))) page = await look()
  if (!page || isShownAgain(page)) return undefined
  const seen = seenBefore(page)
  const found = { page, isPastEnd: goesPastEnd(page, perPage, seen) }
  // If records were deleted meanwhile, others may have slipped to where the walk has already been.
  if (isNews(page, seen) || page.total < seen.total) return found
  if (!found.isPastEnd) return undefined
  // If ties change their order, the last page looks different when it is shown again: such a source answers every page.
  const next = await pageBehind(list.fetch(number + 1, perPage))
  return next && next.records > 0 && !isNews(next, seen) ? undefined : found
}

/**
 * A page of a list. Some sources refuse a page past the end, and the list may have become shorter; then this returns an
 * empty page.
 */
export async function fetchPage<P>(
  list: Pick<List<P>, 'fetch'>,
  page: number,
  perPage: number,
): Promise<WalkPage<P>> {
  const answer = page === 1 ? await list.fetch(1, perPage) : await pageBehind(list.fetch(page, perPage))
  if (answer) return answer
  const head = await list.fetch(1, 1)
  // If the source counts records for a page but refuses it, the list hasn't ended.
  return (page - 1) * perPage < head.total
    ? list.fetch(page, perPage)
    : { ...head, page, records: 0, observed: [] }
}

/** Where a plain reading of a list begins: see plain.ts. */
export interface PlainBegin<P> {
  /** Why a list is read this way: it isn't newest first, or it has no reliable total. */
  readonly cause: 'order' | 'no_count'
  /** A walk that found its list longer than the total continues where it stopped. */
  readonly from: number
  /** The pages from there on that have already arrived. */
  readonly pages: readonly WalkPage<P>[]
  readonly perPage: number
  /** Newest `updated_at` of the walk's first response, if there was one. */
  readonly ceiling?: string
  /** Records of the earlier pages. */
  readonly seen?: Seen
}

/** A plain reading of the whole list. */
export const fromFirstPage = <P>(cause: PlainBegin<P>['cause'], perPage: number): PlainBegin<P> => ({
  cause,
  from: 1,
  pages: [],
  perPage,
})

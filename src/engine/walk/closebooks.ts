import { sourceTime } from './clocks.js'
import { type Reading, refuseLoss } from './reading.js'
import { edgesOf } from './ties.js'
import type { WalkPage } from './types.js'

/** The first page of the list, asked for after all others. `fresh`: records that no page before has shown. */
export interface ClosingPage<P> {
  readonly page: WalkPage<P>
  readonly fresh: number
}

/** How often the first page is asked for again while it keeps showing newer records. */
const closingRounds = 12

/**
 * Closes the books: asks for the first page again until it shows nothing newer than the pages before, and reads newer
 * records down to the newest seen before. That is one request when nothing moved, two when something did. Returns the
 * last page, which is not stored yet; undefined where the list never stood still.
 */
export async function closeReading<P>(reading: Reading<P>): Promise<ClosingPage<P> | undefined> {
  const { walk, books, perPage } = reading
  for (let round = 0; round < closingRounds; round++) {
    const page = await reading.fetch(1, perPage)
    const seen = walk.newest
    const limit = sourceTime(page.clocks)
    const isNewer = (time: string): boolean => time > seen && time <= limit
    const hasNews = page.sightings.some((s) => isNewer(s.updatedAt) || books.some((book) => book.isNews(s)))
    if (!hasNews) return { page, fresh: enterLast(reading, page) }
    await reading.top(page)
    if (!page.sightings.some(({ updatedAt }) => updatedAt < seen))
      await reading.pager.runUntil(seen, page.totalPages, (next) => reading.top(next))
  }
  return undefined
}

function enterLast<P>({ own, books }: Reading<P>, page: WalkPage<P>): number {
  refuseLoss(page.total, own.last)
  const edges = edgesOf(page)
  let fresh = 0
  for (const book of books) {
    book.surprise(page.sightings)
    if (edges) book.vanished(page.sightings, edges)
    // The last book is the joint one: what an earlier reading has shown is not unseen.
    fresh = book.response(page.total, page.sightings).fresh.length
  }
  return fresh
}

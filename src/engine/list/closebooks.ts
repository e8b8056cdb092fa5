/**
 * The end of a reading, in three steps: looks for pages past the end that the total gives, closes the books with the
 * first page, and rereads a late zone of more than a page if the list has stirred.
 */
import { lookBehind, type PlainBegin } from './behind.js'
import { sourceTime } from './clocks.js'
import type { ObservedRecord } from './observed.js'
import { type PagedList, pages, placeAt } from './pages.js'
import { type Reading, refuseLoss } from './reading.js'
import { edgesOf } from './ties.js'
import type { WalkPage } from './types.js'

/**
 * Looks past the end that the total gives: a total may be capped or estimated. Only a page that isn't full or shows
 * nothing new ends a list. `more`: the list goes on at the reading's place. Otherwise the list has ended, or its total is
 * wrong: then this returns where to continue. Costs one extra request if the last page is full, and before a count
 * mismatch is settled.
 */
export async function lookPast<P>(
  reading: Reading<P>,
  behind: number | undefined,
): Promise<'more' | PlainBegin<P> | undefined> {
  const { walk, own, perPage, place } = reading
  if (behind === undefined || reading.isOver) return undefined
  if (behind <= reading.deepest) {
    // The total fell below what was read: these pages are read again before one of them can be the last.
    reading.goTo(behind, behind)
    return 'more'
  }
  const { seen } = reading
  const next = await lookBehind(
    walk.list,
    { page: behind, perPage },
    () => seen,
    (page) => reading.isShownAgain(page),
  )
  if (next?.isPastEnd)
    return { cause: 'no_count', from: behind, pages: [next.page], perPage, ceiling: own.ceiling, seen }
  if (!next) {
    walk.search.isEndSeen = true
    return undefined
  }
  place.ready = { number: behind, page: Promise.resolve(next.page) }
  reading.goTo(behind, Math.max(behind, next.page.totalPages))
  return 'more'
}

/** How many times to request the first page again while it keeps showing newer records. */
const closingRounds = 12

/**
 * Closes the books: requests the first page again until it shows nothing newer than the earlier pages, and reads newer
 * records down to the newest one already seen. That takes one request if nothing moved, two if something did. Then reads
 * a late zone of more than a page again. Returns the last page, which isn't stored yet. undefined if the list never
 * stopped changing.
 */
export async function closeReading<P>(reading: Reading<P>): Promise<WalkPage<P> | undefined> {
  const { walk, books, perPage } = reading
  for (let round = 0; round < closingRounds; round++) {
    const page = await reading.fetch(1, perPage)
    const seen = walk.newest
    const limit = sourceTime(page.clocks)
    const isNewer = (time: string): boolean => time > seen && time <= limit
    const hasNews = page.observed.some((s) => isNewer(s.updatedAt) || books.some((book) => book.isNews(s)))
    if (!hasNews) return readZone(reading, page, enterLast(reading, page))
    await enterTop(reading, page)
    if (!page.observed.some(({ updatedAt }) => updatedAt < seen))
      await readTop(reading, seen, page.totalPages)
  }
  return undefined
}

/** A page at the top of the list, read again because it shows newer records. */
async function enterTop<P>(reading: Reading<P>, page: WalkPage<P>): Promise<void> {
  for (const book of reading.books) book.surprise(page.observed)
  const { fresh } = reading.see(page)
  reading.judge(page, await reading.walk.store(page, reading.commit(fresh)))
}

/** Reads one by one from the second page to the first record older than `time`. */
async function readTop<P>(reading: Reading<P>, time: string, last: number): Promise<void> {
  if (reading.isOver) return
  const { perPage, own } = reading
  const list: PagedList<P> = { fetch: (page, size) => reading.fetch(page, size), readAhead: () => 0 }
  for await (const step of pages(list, { ...placeAt<P>(perPage), next: 2, last, total: own.last })) {
    if (step.is !== 'next') continue
    await enterTop(reading, step.page)
    if (step.back) reading.steppedBack(step.back)
    else if (step.page.observed.some(({ updatedAt }) => updatedAt < time)) return
    if (reading.isOver) return
  }
}

function enterLast<P>({ own, books }: Reading<P>, page: WalkPage<P>): number {
  refuseLoss(page.total, own.last)
  const edges = edgesOf(page)
  let fresh = 0
  for (const book of books) {
    book.surprise(page.observed)
    if (edges) book.vanished(page.observed, edges)
    // The last book is the joint one: what an earlier reading showed isn't unseen.
    fresh = book.response(page.total, page.observed).fresh.length
  }
  return fresh
}

/** Readings of a zone that keeps changing. */
const attempts = 5
/** Readings that find nothing new, if none can show the zone whole. */
const enough = 3

/**
 * Tells the books whether the zone agrees with what was seen. A record that slipped or came late while the zone was
 * read the first time shows up now (docs/dev/architecture.md, Why a walk can be complete). The zone's first page is the one
 * that closed the reading, which showed `unseen` records that no earlier page had. Returns the last page, which isn't
 * stored yet.
 */
async function readZone<P>(reading: Reading<P>, closing: WalkPage<P>, unseen: number): Promise<WalkPage<P>> {
  const books = reading.books.filter((book) => book.needsZone && !book.isShort)
  const from = books.reduce(
    (low, { lateFrom }) => (lateFrom < low ? lateFrom : low),
    books[0]?.lateFrom ?? '',
  )
  let [page, fresh] = [closing, unseen]
  let quiet = 0
  for (let attempt = 1; books.length > 0 && attempt <= attempts; attempt++) {
    const zone = await readOnce(reading, page, from)
    quiet = fresh + zone.unseen === 0 ? quiet + 1 : 0
    // If ties hide records from each reading of the zone, several readings that find nothing new have to do.
    for (const book of books)
      book.zoneAgrees = quiet > 0 && (zone.isShown || (quiet >= enough && book.isEven))
    if (books.every((book) => book.zoneAgrees) || attempt === attempts) return zone.last
    await reading.walk.store(zone.last, {})
    page = await reading.fetch(1, reading.perPage)
    fresh = enter(reading, page)
  }
  return page
}

/** Enters a page of the zone into the books. Returns how many records no reading had shown; a fall counts as one. */
function enter<P>(reading: Reading<P>, page: WalkPage<P>): number {
  const unseen = page.observed.filter(({ id }) => !reading.joint.has(id)).length
  return unseen + (reading.see(page).fell > 0 ? 1 : 0)
}

async function readOnce<P>(reading: Reading<P>, first: WalkPage<P>, from: string) {
  const ids = new Set<ObservedRecord['id']>()
  let [page, unseen] = [first, 0]
  for (let number = 1; ; number++) {
    const zone = page.observed.filter(({ updatedAt }) => updatedAt > from)
    for (const { id } of zone) ids.add(id)
    const isEnd = zone.length < page.observed.length || page.observed.length === 0
    if (isEnd || number >= page.totalPages) {
      // Ties within the zone may hide a record from both readings. Then there are fewer distinct ids than places.
      const places = (number - 1) * reading.perPage + zone.length - (page.total - first.total)
      return { last: page, unseen, isShown: ids.size === places }
    }
    await reading.walk.store(page, {})
    page = await reading.fetch(number + 1, reading.perPage)
    unseen += enter(reading, page)
  }
}

/** How a reading begins: with the first page of the list, or where an earlier process stopped. */
import { countAnomalies } from './anomalies.js'
import { isMoreThanCounted, lookBehind, type Seen } from './behind.js'
import { Book } from './books.js'
import { believedUntil, ceilingOf } from './clocks.js'
import { isOutOfOrder, newest, type ObservedRecord } from './observed.js'
import { listHeadOf } from './pages.js'
import { Repeats, servedSize } from './pagesize.js'
import { readPlainly } from './plain.js'
import { isLoss, Reading, refuseLoss } from './reading.js'
import type { WalkOutcome, WalkPage } from './types.js'
import { reached } from './walkprogress.js'
import type { WalkState } from './walkstate.js'

/**
 * Opens a reading: where an earlier process stopped, or with the first page. Returns the outcome if that is the whole
 * list, or if the list can only be read plainly.
 */
export async function openReading<P>(
  walk: WalkState<P>,
  number: number,
  perPage: number,
  joint: Book | undefined,
): Promise<Reading<P> | WalkOutcome> {
  const resumed = number === 1 ? await resumeReading(walk, perPage) : undefined
  return resumed ?? beginReading(walk, number, perPage, joint)
}

/**
 * Begins a reading with the first page. A list of one page needs no reading: the page is
 * its own proof, and this returns the outcome. If the page is full, the page after it must show nothing new.
 */
async function beginReading<P>(
  walk: WalkState<P>,
  number: number,
  perPage: number,
  joint: Book | undefined,
): Promise<Reading<P> | WalkOutcome> {
  const { known, expected = 0, looksAgain } = walk.plan
  const first = await firstPage(walk, perPage)
  if (first.isUncounted) return readPlainly(walk, { cause: 'no_count', from: 1, pages: [first], perPage })
  // A total that is known to be wrong says nothing about what has vanished.
  if (!known?.isUncounted) refuseLoss(first.total, expected, 'rows')
  walk.size.watch(first)
  if (first.readable !== undefined && first.readable < perPage)
    return beginReading(walk, number, first.readable, joint)
  const isAll = isAllShown(walk, first)
  const isMore = isMoreThanCounted(first)
  const next = isAll && !isMore ? await nextOf(walk, first, perPage) : undefined
  const isFalse = isMore || next?.isPastEnd === true
  if (isAll && !next && !isFalse) return single(walk, first, number)
  const size = sizeOf(walk, first, perPage)
  if (next?.isPastEnd && size < perPage) walk.size.learn(size)
  const begin = { from: 1, pages: next ? [first, next.page] : [first], perPage: size }
  if (isFalse) return readPlainly(walk, { cause: 'no_count', ...begin })
  // The books of such a list can't close. A load of the whole list checks again whether they do by now.
  if ((known?.isUnsteady || known?.isUncounted) && !looksAgain)
    return readPlainly(walk, { cause: 'no_count', ...begin })
  if (isOutOfOrder(first.observed)) return readPlainly(walk, { cause: 'order', ...begin })
  return opened(walk, first, { number, perPage: size, joint, second: next?.page })
}

interface Opening<P> {
  readonly number: number
  /** Records per page as the source serves them. */
  readonly perPage: number
  readonly joint: Book | undefined
  /** The second page, if it has already arrived. */
  readonly second: WalkPage<P> | undefined
}

function opened<P>(
  walk: WalkState<P>,
  page: WalkPage<P>,
  { number, perPage, joint, second }: Opening<P>,
): Reading<P> {
  const { floor, nextFloor } = walk.plan
  const { total, observed } = page
  const first = { ...page, totalPages: Math.ceil(total / perPage) }
  const ceiling = ceilingOf(first) ?? floor
  const lateFrom = nextFloor?.(ceiling) ?? ceiling
  const shows = (time: string): boolean =>
    observed.some(({ updatedAt }) => updatedAt !== '' && updatedAt <= time)
  const isZoneSeen = lateFrom >= ceiling || shows(lateFrom)
  const isTopSeen = ceiling === floor || shows(ceiling)
  const own = new Book({ floor, total, ceiling, lateFrom, isZoneSeen, isTopSeen })
  if (ceiling > walk.newest) walk.newest = ceiling
  const reading = new Reading(walk, number, perPage, own, joint ?? own)
  reading.place.head = listHeadOf(first)
  reading.first = first
  if (second) reading.place.ready = { number: 2, page: Promise.resolve(second) }
  reading.goTo(2, Math.max(first.totalPages, second ? 2 : 1))
  return reading
}

/**
 * One response without a total, or with one that is too small, may be a slip. After two, that is how the source
 * answers.
 */
async function firstPage<P>({ list, plan }: WalkState<P>, perPage: number): Promise<WalkPage<P>> {
  const page = await list.fetch(1, perPage)
  const isOdd = page.isUncounted || isMoreThanCounted(page)
  return isOdd && !plan.known?.isUncounted ? list.fetch(1, perPage) : page
}

/** Whether the page shows the whole list, except for records that earlier walks know to be counted but not shown. */
const isAllShown = <P>({ hidden }: WalkState<P>, { total, records }: WalkPage<P>): boolean =>
  total - records <= hidden

/** A walk of the whole list, which settles a count mismatch again, must also check past the end. */
const mayGoOn = <P>(walk: WalkState<P>, first: WalkPage<P>, perPage: number): boolean =>
  walk.size.isFull(first, perPage) || (walk.isWhole && first.records > 0 && first.total > first.records)

/** What the first page showed. Records with the same time that both pages show may have replaced others. */
const seenOn = <P>({ observed, total }: WalkPage<P>, second: WalkPage<P>): Seen => {
  const ids = new Set(observed.map(({ id }) => id))
  const again = second.observed.flatMap(({ id, updatedAt }) => (ids.has(id) ? [updatedAt] : []))
  return { has: (id) => ids.has(id), distinct: ids.size, total, mayHide: areTied(again, observed) }
}

/** The second page, if the first may not be everything and the list continues. */
async function nextOf<P>(walk: WalkState<P>, first: WalkPage<P>, perPage: number) {
  if (!mayGoOn(walk, first, perPage)) return undefined
  const size = Math.min(perPage, first.records)
  const repeats = new Repeats()
  repeats.take(first)
  const next = await lookBehind(
    walk.list,
    { page: 2, perPage: size },
    (page) => seenOn(first, page),
    (page) => repeats.has(page),
  )
  if (next && size < perPage) walk.size.use(size)
  return next
}

/**
 * How many records the source puts on a page: fewer than requested if the first page is short and isn't the whole list.
 */
function sizeOf<P>(walk: WalkState<P>, first: WalkPage<P>, perPage: number): number {
  if (walk.size.most !== undefined && walk.size.most < perPage) return walk.size.most
  const size = servedSize(first, perPage, walk.hidden)
  if (size !== undefined) walk.size.learn(size)
  return size ?? perPage
}

async function single<P>(walk: WalkState<P>, page: WalkPage<P>, number: number): Promise<WalkOutcome> {
  const { total, observed } = page
  const distinct = new Set(observed.map(({ id }) => id)).size
  const { repeated: twice } = countAnomalies(observed.map(({ id }) => id))
  const isUnordered = isOutOfOrder(observed)
  const hidden = Math.max(0, total - page.records)
  walk.noteStamps(page)
  walk.noteHoles(page)
  const outcome = walk.outcome(
    { basis: { by: 'page', missing: 0 }, isReadAgain: number > 1, isUnordered, twice, hidden },
    { ceiling: ceilingOf(page), books: { first: total, last: total, distinct, entered: 0, fallen: 0 } },
    { isUnordered },
  )
  await walk.store(page, { progress: null, outcome })
  return outcome
}

/**
 * Resumes the reading of an earlier process where it stopped. undefined: there is none to resume, or so
 * many records are gone that a new walk is safer.
 */
async function resumeReading<P>(walk: WalkState<P>, usual: number): Promise<Reading<P> | undefined> {
  const { list, plan } = walk
  const { floor, nextFloor } = plan
  if (plan.resume?.progress.floor !== floor) return undefined
  // The total comes first: a record deleted after this response shows as a fall in the next page, and the walk steps
  // back.
  const head = await list.fetch(1, 1)
  const { total } = head
  const progress = reached(plan.resume.progress, listHeadOf(head))
  const { boundary, ceiling, size = usual } = progress
  const perPage = Math.min(size, usual)
  if (perPage < usual) walk.size.learn(perPage)
  // A ceiling in the future doesn't show what changed since the walk began.
  if (ceiling > believedUntil(head.clocks)) return undefined
  const newer = await list.countAfter(boundary)
  if (isLoss(total, progress.last)) return undefined
  const book = Book.restored(floor, {
    ...plan.resume,
    progress,
    lateFrom: nextFloor?.(ceiling) ?? ceiling,
  })
  walk.newest = ceiling
  const reading = new Reading(walk, 1, perPage, book, book, progress)
  if (book.response(total, []).fell > 0) reading.hasSteppedBack = true
  // The records behind the last page that was read are still behind it, unless they were deleted or moved to the top.
  // So the position counted from the end of the list is at worst too early. Records newer than the boundary have been
  // read in any case.
  const read = Math.max(newer, total - progress.below)
  const pages = Math.max(1, Math.ceil(Math.max(total, newer) / perPage))
  reading.place.head = listHeadOf(head)
  const from = await reach(reading, Math.min(Math.floor(read / perPage) + 1, pages), boundary)
  list.note('Resuming a walk', { from, boundary })
  reading.goTo(from, pages)
  return reading
}

/**
 * The two counts are of two moments, and the list may have moved in between. So the reading goes back to the first page
 * that begins at or before the boundary.
 */
async function reach<P>(reading: Reading<P>, from: number, boundary: string): Promise<number> {
  for (let k = from; ; k--) {
    const page = await reading.fetch(k, reading.perPage)
    if (k > 1 && newest(page.observed) < boundary) continue
    reading.place.ready = { number: k, page: Promise.resolve(page) }
    return k
  }
}

/** Whether several records of a page share one of the times. */
function areTied(times: readonly string[], observed: readonly ObservedRecord[]): boolean {
  const own = new Set(times)
  const ids = new Map<string, ObservedRecord['id']>()
  return observed.some(({ id, updatedAt }) => {
    if (!own.has(updatedAt)) return false
    const other = ids.get(updatedAt) ?? id
    ids.set(updatedAt, other)
    return other !== id
  })
}

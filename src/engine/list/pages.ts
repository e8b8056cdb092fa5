/**
 * The pages of a list, in the order in which they count: one by one or in bursts, with steps back when the total falls.
 * A walk and a range take them in a loop. Lists of plain texts, the late zone and the authorizations read page by page:
 * they are never stepped back in, nor read in bursts.
 */
import { fallen } from './count.js'
import { firstBurst, largestBurst, Prefetch, smallestBurst } from './prefetch.js'
import type { List, ListHead, WalkPage } from './types.js'

/** What it takes to read the pages of a list. */
export type PagedList<P> = Pick<List<P>, 'fetch' | 'readAhead'>

/** How far a list has been read. pages() moves it on, and goes on from there when it is called again. */
export interface ListPlace<P> {
  readonly perPage: number
  /** The page to read next, and the last page as far as known. */
  next: number
  last: number
  /** `total_count` of the latest response in order. */
  total: number
  /** The head of the list, if a response has shown it; otherwise the first burst requests it. */
  head?: ListHead
  /** Pages of the next burst. */
  width: number
  /** A page that is under way or has arrived. */
  ready?: { readonly number: number; readonly page: Promise<WalkPage<P>> } | undefined
}

/** The total fell by that many, so reading goes back from one page to another. */
export interface StepBack {
  readonly fell: number
  readonly from: number
  readonly to: number
}

/** A page of the list. */
export interface PageStep<P> {
  /**
   * `next`: strictly after the previous response. `together`: of a burst that isn't yet known to be in order; `before` is
   * the head of the list before the burst.
   */
  readonly is: 'next' | 'together'
  readonly page: WalkPage<P>
  readonly before?: ListHead
  readonly back?: StepBack
}

export type ListStep<P> =
  | PageStep<P>
  /** The list didn't change while the burst up to this page was read, so its pages count as read in order. */
  | { readonly is: 'still'; readonly upTo: WalkPage<P> }
  /** The list moved during the burst, so its pages don't count as read in order. */
  | { readonly is: 'moved' }
  /** A total that came without a page. */
  | { readonly is: 'total'; readonly total: number; readonly back?: StepBack }

export const listHeadOf = <P>(page: WalkPage<P>): ListHead => {
  const first = page.observed[0]
  return { newest: first ? `${first.id} ${first.updatedAt}` : '', total: page.total }
}

export const placeAt = <P>(perPage: number): ListPlace<P> => ({
  perPage,
  next: 1,
  last: 1,
  total: 0,
  width: firstBurst,
})

/**
 * Reads on to the last page, in one of two ways.
 *
 * - One by one: takes the next page. If the total fell, records moved forward across a page boundary, so it goes back by
 *   as many pages as the fall covers (docs/dev/architecture.md, Why a walk can be complete).
 * - In bursts, if `readAhead` allows several pages at the same time: responses that overlap in time show the list at
 *   different moments, and an update between two responses can push a record from an unread page to a read one. A burst
 *   counts only if the head of the list was the same before the first burst and after this one. Otherwise the burst is
 *   read again in smaller bursts, and in the end one by one (docs/dev/architecture.md, Why a walk can be complete).
 *
 * The caller's loop decides when the next page is taken: only what `readAhead` allows is requested before. A caller that
 * wants no further pages leaves its loop.
 */
export async function* pages<P>(list: PagedList<P>, place: ListPlace<P>): AsyncGenerator<ListStep<P>, void> {
  // Without a limit, a list that keeps changing would never be finished. At the limit the books stay open.
  let budget = 3 * place.last + 100
  while (place.next <= place.last && budget > 0) {
    const left = place.last - place.next + 1
    const read = isWide(list, place, left) ? yield* burst(list, place) : yield* single(list, place)
    budget -= Math.max(1, read)
  }
}

const isWide = <P>(list: PagedList<P>, { width }: ListPlace<P>, left: number): boolean =>
  width > 1 && left >= smallestBurst && list.readAhead() > 1

async function* single<P>(list: PagedList<P>, place: ListPlace<P>): AsyncGenerator<ListStep<P>, number> {
  const number = place.next
  const page = await take(list, place, number)
  const left = page.totalPages - number
  // The next request starts when this page has arrived: still one after the other, but without waiting for the store.
  if (list.readAhead() > 0 && left > 0 && !isWide(list, place, left)) prefetch(list, place, number + 1)
  const fell = fallen(place.total, page.total)
  place.total = page.total
  place.next = number + 1
  place.last = page.records === 0 ? Math.min(page.totalPages, number) : page.totalPages
  yield { is: 'next', page, ...stepBack(place, number, fell) }
  return 1
}

/** Reads burst after burst while each turns out to be in order. Returns how many pages it has read. */
async function* burst<P>(list: PagedList<P>, place: ListPlace<P>): AsyncGenerator<ListStep<P>, number> {
  // They may arrive while a page is stored, and are taken in their turn.
  const totals: number[] = []
  const look = async (): Promise<ListHead> => {
    // A page that arrived before the head of the list doesn't follow it.
    place.ready = undefined
    const page = await list.fetch(1, 1)
    totals.push(page.total)
    place.head = listHeadOf(page)
    return place.head
  }
  const before = place.head ?? (await look())
  const ask = (number: number): Promise<WalkPage<P>> => take(list, place, number)
  const prefetch = new Prefetch<P>({ ask, look, most: () => list.readAhead() }, place)
  let read = 0
  try {
    for (let pending = prefetch.next(); pending; pending = prefetch.next()) {
      const page = await pending.page
      read++
      yield* heard(place, totals)
      yield { is: 'together', page, before }
      const isEnd = pending.check !== undefined
      const isStill = page.total === before.total && (!isEnd || isSame(before, await pending.check))
      yield* heard(place, totals)
      if (!isStill) {
        // Totals of overlapping responses have no order: every page under way must arrive before the next request.
        await prefetch.ended()
        place.width = Math.max(1, Math.floor(pending.width / 4))
        yield* heard(place, totals)
        yield { is: 'moved' }
        yield goBack(place, before, (await look()).total)
        break
      }
      if (!isEnd) continue
      place.width = Math.min(largestBurst, pending.width * 2)
      place.next = pending.number + 1
      place.last = page.totalPages
      yield { is: 'still', upTo: page }
    }
  } finally {
    prefetch.stop()
  }
  return read
}

function* heard<P>(place: ListPlace<P>, totals: number[]): Generator<ListStep<P>, void> {
  for (const total of totals.splice(0)) {
    place.total = total
    yield { is: 'total', total }
  }
}

/** The burst is read again, from further ahead if the total fell. */
function goBack<P>(place: ListPlace<P>, before: ListHead, total: number): ListStep<P> {
  place.total = total
  place.last = Math.max(place.next, Math.ceil(total / place.perPage))
  return { is: 'total', total, ...stepBack(place, place.next, fallen(before.total, total)) }
}

function stepBack<P>(place: ListPlace<P>, from: number, fell: number): { readonly back?: StepBack } {
  if (fell === 0) return {}
  place.next = Math.max(1, from - Math.ceil(fell / place.perPage))
  return { back: { fell, from, to: place.next } }
}

function take<P>(list: PagedList<P>, place: ListPlace<P>, number: number): Promise<WalkPage<P>> {
  const { ready, perPage } = place
  place.ready = undefined
  return ready?.number === number ? ready.page : list.fetch(number, perPage)
}

function prefetch<P>(list: PagedList<P>, place: ListPlace<P>, number: number): void {
  const page = list.fetch(number, place.perPage)
  page.catch(() => {})
  place.ready = { number, page }
}

const isSame = (one: ListHead, other: ListHead | undefined): boolean =>
  one.newest === other?.newest && one.total === other.total

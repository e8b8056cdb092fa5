/**
 * Reads a list whose order or total is unreliable: every page in turn, repeated until the ids agree with a total that
 * didn't change. walk.ts falls back to it.
 */

import { Bug } from '../base/errors.js'
import { fromFirstPage, goesPastEnd, type PlainBegin, pageBehind } from './behind.js'
import type { Book } from './books.js'
import { ceilingOf } from './clocks.js'
import { isKnownMismatch, isSameList, type StillList } from './countmismatch.js'
import { numbersOf } from './evidence.js'
import { Ids } from './ids.js'
import { Repeats, servedSize } from './pagesize.js'
import type { WalkOutcome, WalkPage } from './types.js'
import { type Basis, movesWatermark } from './verdict.js'
import { mayReadOn, type WalkState } from './walkstate.js'

/** One reading, after its last page. */
interface PlainReading<P> {
  /** The last page, which isn't stored yet. */
  readonly last: WalkPage<P>
  /** Every response had the same total. */
  readonly isSteady: boolean
  /** A page has shown that no page follows it. */
  readonly isEnded: boolean
  readonly ids: Ids
}

/** A reading under way. */
interface PlainState {
  readonly ids: Ids
  readonly totals: Set<number>
  perPage: number
  /** Consecutive pages that showed nothing new. */
  quiet: number
  /** Records that no earlier reading showed, and that didn't change just now. */
  news: number
  /** The page size the source seems to use, from a first page that is shorter than requested. */
  presumed?: number | undefined
}

/**
 * The limit for consecutive pages that show nothing new and aren't all the same: many records have come to the top and
 * pushed the others back, or ties change their order.
 */
const mostQuiet = 5
/**
 * After this many consecutive readings that find nothing new, ties that change their order hide nothing more. If earlier
 * readings have found something, the ties hide much, and more readings have to find nothing.
 */
const steadyReadings = { atFirst: 2, later: 5 }

/** Without a limit, a source that makes up pages would be read forever. */
const mostPages = 1_000_000

/** The list of one walk, read plainly. */
class PlainWalk<P> {
  #ceiling: string | null = null
  #first = 0
  /** The ids of all readings since the total last changed. */
  #union = new Ids()
  #unionTotal = -1
  /** The ids of all readings, and how many consecutive readings found nothing new. */
  readonly #all = new Ids()
  #steady = 0
  #readings = 0
  /** The list isn't newest first. */
  readonly #isUnordered: boolean

  constructor(
    private readonly walk: WalkState<P>,
    private cause: PlainBegin<P>['cause'],
  ) {
    this.#isUnordered = cause === 'order'
  }

  async run(begin: PlainBegin<P>): Promise<WalkOutcome> {
    const { store, size } = this.walk
    this.#ceiling = begin.ceiling ?? null
    let before: StillList | undefined
    let read: Ids | undefined
    let outcome: WalkOutcome | undefined
    for (let i = 0; this.#mayRead(i, outcome); i++) {
      const reading = await this.#read(i === 0 ? begin : fromFirstPage(this.cause, size.of(i + 1)))
      const now = reading.isSteady ? reading.ids.numbers(reading.last.total) : undefined
      outcome = this.#judge(reading, now, { still: before, ids: read })
      const isDone = movesWatermark(outcome)
      await store(reading.last, isDone ? { progress: null, outcome } : { progress: null })
      if (isDone || !reading.isEnded) return outcome
      before = now
      read = reading.ids
    }
    if (!outcome) throw new Bug('A walk needs a page size')
    return outcome
  }

  /** `outcome`: of the readings so far, which are `number`. */
  #mayRead(number: number, outcome: WalkOutcome | undefined): boolean {
    if (number < this.walk.size.sizes.length) return true
    return outcome?.reason === 'ties' && mayReadOn(number + 1, this.#all.distinct)
  }

  /** undefined: the two readings don't show the same versions in the same order, or the total didn't change. */
  async runTwice(ceiling: string): Promise<WalkOutcome | undefined> {
    const { store, size } = this.walk
    const [first = 100, second = first] = size.sizes
    this.#ceiling = ceiling
    const one = await this.#read(fromFirstPage(this.cause, first))
    await store(one.last, { progress: null })
    const two = await this.#read(fromFirstPage(this.cause, second))
    const isStill = one.ids.versions === two.ids.versions && !(one.isSteady && two.isSteady)
    const isTold = isStill && one.isEnded && two.isEnded
    const basis = { by: 'end', mayHide: false } as const
    const outcome = isTold ? this.#outcome(basis, two.ids.numbers(two.last.total), true) : undefined
    await store(two.last, outcome ? { progress: null, outcome } : {})
    return outcome
  }

  async #read(begin: PlainBegin<P>): Promise<PlainReading<P>> {
    const { list, store } = this.walk
    const reading: PlainState = {
      ids: new Ids(begin.seen),
      totals: new Set(),
      perPage: begin.perPage,
      news: 0,
      quiet: 0,
    }
    const repeats = new Repeats()
    let last: WalkPage<P> | undefined
    let end: 'shown' | 'refused' | undefined
    for (let k = begin.from; end === undefined && k < mostPages; k++) {
      const page = begin.pages[k - begin.from] ?? (await pageBehind(list.fetch(k, reading.perPage)))
      if (page && last) await store(last, { progress: null })
      if (page) {
        last = page
        repeats.take(page)
        if (this.#take(page, reading, repeats)) end = 'shown'
      } else end = 'refused'
    }
    // Arrivals at the top only matter if the list has an order. A tenant that is gone refuses every page, including the
    // first.
    if (!last || end === 'refused' || this.cause === 'order') {
      if (last) await store(last, { progress: null })
      last = await list.fetch(1, begin.perPage)
      reading.totals.add(last.total)
    }
    this.#steady = reading.news === 0 ? this.#steady + 1 : 0
    this.#readings++
    return { last, isSteady: reading.totals.size === 1, isEnded: end !== undefined, ids: reading.ids }
  }

  /** Takes the next page. Returns true if it ends the list. */
  #take(page: WalkPage<P>, reading: PlainState, repeats: Repeats): boolean {
    const { size, hidden } = this.walk
    const { ids, totals, perPage } = reading
    this.#ceiling ??= ceilingOf(page)
    if (totals.size === 0 && this.#first === 0) this.#first = page.total
    totals.add(page.total)
    if (!repeats.isOne && goesPastEnd(page, perPage, ids)) this.cause = 'no_count'
    this.#enter(page)
    this.walk.noteStamps(page)
    size.watch(page)
    const fresh = ids.take(page.observed)
    ids.total = page.total
    // Where pages meet, a record may be shown in place of another with the same time. A repeat of the last page is not
    // such a case.
    ids.mayHide ||= !repeats.isOne && fresh < page.observed.length
    const old = page.observed.filter(({ updatedAt }) => updatedAt <= (this.#ceiling ?? ''))
    reading.news += this.#all.take(old)
    // If the second page shows something new, the first one was full although it was shorter than requested.
    if (page.page === 2 && fresh > 0 && reading.presumed !== undefined) size.learn(reading.presumed)
    const isUncounted = this.cause === 'no_count'
    if (page.page === 1) reading.presumed = servedSize({ ...page, isUncounted }, perPage, hidden)
    reading.perPage = reading.presumed ?? perPage
    reading.quiet = fresh === 0 ? reading.quiet + 1 : 0
    if (page.records === 0 || repeats.areMany) return true
    if (this.cause === 'no_count') return fresh === 0 && (repeats.isOne || reading.quiet >= mostQuiet)
    const places = (page.page - 1) * reading.perPage + page.records
    return places >= page.total && (page.records < reading.perPage || fresh === 0)
  }

  #enter(page: WalkPage<P>): void {
    const { total, observed } = page
    if (total !== this.#unionTotal) this.#union = new Ids()
    this.#unionTotal = total
    this.#union.take(observed)
    this.walk.noteHoles(page)
  }

  #judge(
    { last, isEnded, ids }: PlainReading<P>,
    now: StillList | undefined,
    before: { readonly still?: StillList | undefined; readonly ids?: Ids | undefined },
  ): WalkOutcome {
    const isUncounted = this.cause === 'no_count'
    const shown = isUncounted || !now ? ids.numbers(last.total, before.ids) : now
    if (!isEnded) return this.#outcome({ by: 'nothing', reason: 'moving' }, shown)
    if (isUncounted) {
      const { atFirst, later } = steadyReadings
      const enough = this.#readings > this.walk.size.sizes.length ? later : atFirst
      return this.#outcome({ by: 'end', mayHide: ids.mayHide && this.#steady < enough }, shown)
    }
    const union = this.#union.numbers(last.total)
    const isKnown = isKnownMismatch(shown, this.walk.plan.known, false)
    const isSame =
      before.still !== undefined && isSameList(before.still, shown) && union.shown === shown.shown
    const isClosed = now?.twice === 0 && now.hidden === 0
    // If the order changes from page to page, the readings together have to show everything.
    const isJoined = !isClosed && union.shown === shown.total
    return this.#outcome(
      {
        by: 'ids',
        isSteady: now !== undefined,
        total: shown.total,
        shown: shown.shown,
        together: union.shown,
        twice: shown.twice,
        isSettled: isKnown || isSame,
      },
      isJoined && now ? union : shown,
    )
  }

  #outcome(
    basis: Basis,
    { total, shown, twice }: StillList,
    isUnsteady = this.walk.plan.known?.isUnsteady ?? false,
  ): WalkOutcome {
    const isUncounted = this.cause === 'no_count'
    return this.walk.outcome(
      { basis },
      {
        ceiling: this.#ceiling,
        books: { first: this.#first, last: total, distinct: shown, entered: 0, fallen: 0 },
      },
      { twice, isUnordered: this.#isUnordered, isUncounted, isUnsteady: isUncounted && isUnsteady },
    )
  }
}

export const readPlainly = <P>(walk: WalkState<P>, begin: PlainBegin<P>): Promise<WalkOutcome> =>
  new PlainWalk(walk, begin.cause).run(begin)

/**
 * Whether a list whose books don't close stays the same while its total changes: two readings to its end show the same
 * versions of the same records. Then its total is wrong; otherwise the books stay open. Done once per walk.
 */
export async function readUnsteady<P>(walk: WalkState<P>, book: Book): Promise<WalkOutcome> {
  walk.search.isTotalDoubted = true
  const listed = await new PlainWalk(walk, 'no_count').runTwice(book.ceiling)
  return listed ?? walk.outcome({ basis: { by: 'nothing', reason: 'totals_disagree' } }, numbersOf(book))
}

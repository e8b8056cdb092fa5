/**
 * Lists a range of a cursor, which begins and ends inside the list, and decides what the listing can claim. Backfills,
 * reconcile's second list and compare/bisect.ts use it.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { fetchPage, goesPastEnd, isNews, pageBehind } from './behind.js'
import { fallen, lastPage, pageOf } from './count.js'
import { forever } from './cutpoint.js'
import { isOutOfOrder } from './observed.js'
import { type ListPlace, type ListStep, type PagedList, pages, placeAt, type StepBack } from './pages.js'
import { largestOf, pageSizes, Repeats, servedSize, sizesUpTo } from './pagesize.js'
import { ShownIds } from './shown.js'
import type { List, ListRange, RangeOutcome, RangeStore, WalkPage } from './types.js'
import { type Basis, verdict } from './verdict.js'

interface RangeReading {
  readonly perPage: number
  last: { readonly page: number; readonly isFull: boolean; readonly isNew: boolean }
  readonly shown: ShownIds
  readonly repeats: Repeats
  total: number
  fell: boolean
  /** Two pages meet within the same time, so they may hide records of that time. */
  tied: boolean
  expected: number
  oldest: string
}

/** How many responses may fail to show a small range whole before it is read page by page. */
const attempts = 3

/**
 * Reads from the page that counting pointed to, down to the end of the list, because the request excludes everything
 * older than the range. The end is a page that isn't full or shows nothing new. A small range is shown whole by one
 * response: the last page of a list, if it also shows a record newer than the range. A larger range is read as a
 * walk reads a list: with steps back when the total falls, and again with other page sizes while ties may hide records.
 */
export class RangeWalk<P> {
  readonly #seen = new Set<Int64 | string>()
  readonly #vouched: string[] = []
  #newer: number
  #total: number | undefined
  #isUncounted: boolean
  /** The most records per page, if that is fewer than usually requested. */
  #most: number | undefined
  /** A response wasn't newest first, so nothing shows where the range is in the list. */
  #isOutOfOrder = false

  constructor(
    private readonly list: List<P>,
    private readonly store: RangeStore<P>,
    private readonly range: ListRange,
  ) {
    this.#newer = range.newer
    this.#total = range.total
    this.#isUncounted = range.known?.isUncounted ?? false
    this.#most = range.known?.size ?? undefined
  }

  get #usual(): readonly number[] {
    return this.range.pageSizes ?? pageSizes
  }

  get #sizes(): readonly number[] {
    return this.#most === undefined ? this.#usual : sizesUpTo(this.#most, this.#usual)
  }

  /**
   * The walk's rule: a reading is complete if it saw as many records as the source counted and no total fell, or if it
   * stepped back for each fall and saw as many as were left. Readings of a range that didn't change are joined.
   */
  async run(): Promise<RangeOutcome> {
    const whole = await this.#atOnce()
    if (whole) return whole
    let outcome: RangeOutcome | undefined
    let before = ''
    for (let i = 0; i < this.#sizes.length; i++) {
      const from = this.#newer
      const reading = await this.#read(this.#sizes[i] ?? largestOf(this.#usual), before)
      before = reading.fell ? '' : `${reading.expected} ${from}`
      if (this.#isUncounted) return this.#outcome({ by: 'end', mayHide: false }, this.#seen.size)
      if (this.#isOutOfOrder) return this.#outcome({ by: 'nothing', reason: 'order' }, reading.expected)
      outcome = this.#judge(reading, from, i > 0)
      if (outcome.verdict !== 'unproven') return outcome
      if (this.range.until !== forever) this.#newer = await this.list.countAfter(this.range.until)
    }
    if (!outcome) throw new Bug('A range needs a page size')
    return outcome
  }

  #judge({ expected, total, fell, tied }: RangeReading, from: number, isReadAgain: boolean): RangeOutcome {
    const counts = {
      seen: this.#seen.size,
      expected,
      left: total - from,
      isUnordered: this.range.isUnordered ?? false,
    }
    return this.#outcome({ by: 'range', ...counts, hasFallen: fell, hasTies: tied }, expected, isReadAgain)
  }

  #outcome(basis: Basis, expected: number, isReadAgain = false): RangeOutcome {
    const evidence = { basis, isReadAgain }
    return { ...verdict(evidence), evidence, seen: this.#seen.size, expected }
  }

  /** Whether a record with this time belongs to the range: the list holds no older records. */
  #holds(time: string): boolean {
    return time <= this.range.until
  }

  /** Takes the page if it shows a record of the range. Returns how many it shows. */
  async #take(page: WalkPage<P>, boundary: string | null): Promise<number> {
    const own = page.observed.filter(({ updatedAt }) => this.#holds(updatedAt))
    for (const { id } of own) this.#seen.add(id)
    if (own.length > 0) await this.store.take(page, boundary)
    return own.length
  }

  /** One response that shows the whole range and proves that it does. undefined if the range is too large. */
  async #atOnce(): Promise<RangeOutcome | undefined> {
    if (this.#isUncounted) return undefined
    for (let attempt = 0; attempt < attempts && this.#total !== undefined; attempt++) {
      const isTop = this.range.until === forever
      const most = this.#total - (isTop ? 0 : this.#newer)
      const place = lastPage(this.#total, isTop ? this.#total : most + 1, largestOf(this.#sizes))
      if (!place) return undefined
      const page = await this.list.fetch(place.page, place.perPage)
      this.#look(page)
      if (this.#isOutOfOrder) return this.#outcome({ by: 'nothing', reason: 'order' }, most)
      const isEnd = page.total <= place.page * place.perPage && page.records > 0
      const hasNewer = place.page === 1 || page.observed.some(({ updatedAt }) => !this.#holds(updatedAt))
      if (page.total === 0 || (isEnd && hasNewer)) {
        // The end of the list should fill its places: whatever is counted there but not shown counts as unseen.
        const short = page.total - (place.page - 1) * place.perPage - page.records
        const own = await this.#take(page, null)
        const missing = Math.max(0, short)
        return this.#outcome({ by: 'page', missing }, own + missing)
      }
      this.#newer += Math.max(0, page.total - this.#total)
      if (!hasNewer && page.total <= this.#total) this.#newer = Math.max(0, this.#newer - 1)
      this.#total = page.total
    }
    return undefined
  }

  /** One reading, page by page. */
  async #read(asked: number, before: string): Promise<RangeReading> {
    const from = this.#newer
    const page = await this.#first(asked)
    const perPage = this.#served(page, asked)
    // Beyond the first page, pages of another size begin elsewhere.
    if (perPage !== asked && page.page > 1) return this.#read(perPage, before)
    const first = { ...page, totalPages: pageOf(page.total, perPage) }
    const offset = (first.page - 1) * perPage
    const newer = first.observed.filter(({ updatedAt }) => !this.#holds(updatedAt)).length
    const reading: RangeReading = {
      perPage,
      shown: new ShownIds(offset),
      repeats: new Repeats(),
      last: { page: first.page, isFull: false, isNew: true },
      total: first.total,
      fell: false,
      tied: false,
      oldest: '',
      expected: Math.max(0, first.total - offset - newer),
    }
    // Records that have left the range since must not make up for others that were not seen.
    if (before !== `${reading.expected} ${from}`) this.#seen.clear()
    const list: PagedList<P> = {
      fetch: (page, size) => fetchPage(this.list, page, size),
      readAhead: () => (this.range.isUnordered ? 0 : this.list.readAhead()),
    }
    const place: ListPlace<P> = { ...placeAt(perPage), next: first.page + 1, last: first.totalPages }
    await this.#next(reading, first)
    await this.#readOn(reading, list, place)
    await this.#toEnd(reading, list, place)
    this.#total = reading.total
    return reading
  }

  /** How many records the source puts on a page, learned once from a first page that is shorter than requested. */
  #served(first: WalkPage<P>, perPage: number): number {
    const total = first.total - (first.page - 1) * perPage
    this.#most ??= servedSize({ ...first, total }, perPage, this.range.known?.hidden)
    return Math.min(perPage, this.#most ?? perPage)
  }

  /** Reads from the place to the end that the total gives. */
  async #readOn(reading: RangeReading, list: PagedList<P>, place: ListPlace<P>): Promise<void> {
    const isOver = (): boolean => this.#isOutOfOrder || reading.repeats.areMany
    if (isOver()) return
    place.total = reading.total
    for await (const step of pages(list, place)) {
      await this.#step(reading, step)
      if (step.is === 'next' && step.back) {
        // Without a true total, a fall means nothing.
        if (this.#isUncounted) place.next = step.page.page + 1
        else this.#steppedBack(step.back)
      }
      if (isOver()) return
    }
  }

  async #step(reading: RangeReading, step: ListStep<P>): Promise<void> {
    if (step.is === 'next') await this.#next(reading, step.page)
    else if (step.is === 'together') {
      this.#look(step.page, reading)
      await this.#page(reading, step.page, false)
    } else if (step.is === 'total') this.#observe(reading, step.total)
    else if (step.is === 'still' && reading.oldest !== '') this.#vouched.push(reading.oldest)
    if (step.is === 'total' && step.back) this.#steppedBack(step.back)
  }

  #steppedBack(back: StepBack): void {
    this.list.note('Stepping back in a range of a list', { ...back })
  }

  /** Reads past the end that the total gives, until a page ends the list: see closebooks.ts. */
  async #toEnd(reading: RangeReading, list: PagedList<P>, place: ListPlace<P>): Promise<void> {
    const { perPage, shown, repeats } = reading
    for (;;) {
      const { last } = reading
      const mayGoOn = last.isNew && (last.isFull || this.#isUncounted)
      if (!mayGoOn || this.#isOutOfOrder || repeats.areMany) return
      const behind = last.page + 1
      const page = await pageBehind(this.list.fetch(behind, perPage))
      if (!page || !isNews(page, shown)) return
      place.ready = { number: behind, page: Promise.resolve(page) }
      place.next = behind
      place.last = Math.max(behind, page.totalPages)
      await this.#readOn(reading, list, place)
    }
  }

  /** The page on which the range begins: it shows a record newer than the range, or is the first page of the list. */
  async #first(perPage: number): Promise<WalkPage<P>> {
    // The page of the last newer record shows that record even if the range begins on the next page.
    let number = this.range.until === forever ? 1 : pageOf(this.#newer, perPage)
    let total = this.#total
    for (;;) {
      const page = await this.list.fetch(number, perPage)
      const [newest] = page.observed
      if (number === 1 || (newest && !this.#holds(newest.updatedAt))) return page
      const fell = (total ?? page.total) - page.total
      number = Math.max(1, number - Math.max(1, Math.ceil(fell / perPage)))
      total = page.total
    }
  }

  #observe(reading: RangeReading, total: number): number {
    if (this.#isUncounted) return 0
    const fell = fallen(reading.total, total)
    reading.fell ||= fell > 0
    reading.total = total
    return fell
  }

  /** After a fall, the next page overlaps this one, which says nothing about ties. */
  async #next(reading: RangeReading, page: WalkPage<P>): Promise<void> {
    this.#look(page, reading)
    const fell = this.#observe(reading, page.total)
    await this.#page(reading, page, fell === 0)
    if (fell > 0) reading.oldest = ''
  }

  /** Checks the list for anomalies before the page counts. */
  #look(page: WalkPage<P>, reading?: RangeReading): void {
    this.#isOutOfOrder ||= !this.range.isUnordered && isOutOfOrder(page.observed)
    if (!reading) return
    const { shown, perPage, repeats } = reading
    reading.last = { page: page.page, isFull: page.records >= perPage, isNew: isNews(page, shown) }
    this.#isUncounted ||= page.isUncounted === true || goesPastEnd(page, perPage, shown)
    shown.take(page)
    repeats.take(page)
  }

  async #page(reading: RangeReading, page: WalkPage<P>, isContinued: boolean): Promise<void> {
    // In an unordered list, no boundary marks how far it was read.
    const isInOrder = isContinued && !this.#isOutOfOrder && !this.range.isUnordered
    const newest = page.observed[0]?.updatedAt ?? ''
    const oldest = page.observed.at(-1)?.updatedAt
    if (reading.oldest !== '' && newest >= reading.oldest) reading.tied = true
    reading.oldest = oldest ?? reading.oldest
    // A burst is vouched for after its last page; that commits before the next page does.
    const vouched = this.#vouched.splice(0).at(-1)
    if (vouched !== undefined && !this.range.isUnordered) await this.store.reached?.(vouched)
    await this.#take(page, isInOrder ? (oldest ?? null) : null)
  }
}

/**
 * One reading of the list: its place, its books, and what is odd about the pages. walk.ts reads with it; beginwalk.ts
 * starts a reading, closebooks.ts ends it, evidence.ts turns it into evidence.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../base/errors.js'
import { plural } from '../base/format.js'
import {
  fetchPage,
  fromFirstPage,
  goesPastEnd,
  isMoreThanCounted,
  isNews,
  type PlainBegin,
  placesUpTo,
  type Seen,
} from './behind.js'
import type { Book } from './books.js'
import { Places } from './countmismatch.js'
import { forever } from './cutpoint.js'
import { isOutOfOrder } from './observed.js'
import type { Place } from './olderpart.js'
import { type ListPlace, type ListStep, type PageStep, pages, placeAt, type StepBack } from './pages.js'
import { Repeats } from './pagesize.js'
import { edgesOf } from './ties.js'
import type { Commit, WalkPage, WalkProgress } from './types.js'
import { Progress } from './walkprogress.js'
import type { WalkState } from './walkstate.js'

/** If a list loses more than this share of its records at once, we don't trust it. */
const suspiciousShare = 0.2
/** Among fewer records than this, a share means nothing. */
const suspiciousFrom = 100

export const isLoss = (total: number, before: number): boolean =>
  before >= suspiciousFrom && total < before * (1 - suspiciousShare)

const wereDeleted =
  'type shopsync reconcile --accept-deletes for this tenant and resource (--tenant, --resource)'

/** `what`: whether the list was longer a moment ago, or the warehouse holds more rows than the list has records. */
export function refuseLoss(total: number, before: number, what: 'list' | 'rows' = 'list'): void {
  if (!isLoss(total, before)) return
  const again = 'Run the same command again; if they were really deleted, it starts from the current list'
  throw new Skip(
    `The source shows ${plural(total, 'record')} where there were ${before}, which is not plausible`,
    {
      reason: 'suspicious',
      code: 'loss_suspected',
      hint: `Expected no more than a fifth to vanish at once. ${what === 'list' ? again : `If they were really deleted, ${wereDeleted}`}`,
    },
  )
}

export class Reading<P> {
  readonly place: ListPlace<P>
  /** Records were deleted during the reading, and the reading stepped back. */
  hasSteppedBack = false
  readonly places = new Places()
  /** The last page that was read, in list order: its number, whether it is full and whether it shows something new. */
  #last: { readonly page: number; readonly isFull: boolean; readonly isNew: boolean } | undefined
  /** The highest page number that was read. */
  #deepest = 0
  /** The page that showed more than its total counts. */
  #pastEnd: number | undefined
  readonly #repeats = new Repeats()
  /** Only the first reading keeps progress: a walk that is killed in a later reading starts over. */
  readonly #progress: Progress | undefined

  /** The first page of the list, until it is taken. */
  first: WalkPage<P> | undefined

  /** It continues where an earlier process stopped. */
  readonly isResumed: boolean

  /**
   * `number`: 1 for the first reading. `own`: its book. `joint`: the book that several readings share; in the first one,
   * `own`. `resumed`: the progress that an earlier process left.
   */
  constructor(
    readonly walk: WalkState<P>,
    readonly number: number,
    readonly perPage: number,
    readonly own: Book,
    readonly joint: Book,
    resumed?: WalkProgress,
  ) {
    this.isResumed = resumed !== undefined
    this.place = placeAt(perPage)
    const { most } = walk.size
    if (number === 1) this.#progress = new Progress(own, { perPage, most }, resumed)
  }

  /** The book of the reading, and the joint book if that is a different one. */
  get books(): readonly Book[] {
    return this.own === this.joint ? [this.own] : [this.own, this.joint]
  }

  /** The list isn't read on this way, because its order or its total is unreliable. */
  get isAbandoned(): boolean {
    return this.walk.isUnordered || this.walk.search.isTotalJumping || this.#pastEnd !== undefined
  }

  /** No further page is wanted, or there is none. */
  get isOver(): boolean {
    return this.isAbandoned || this.isAtEnd
  }

  /**
   * Where a plain reading continues, if a page showed more than its total counts; undefined if none did. It reads nothing
   * itself.
   */
  get readPastEnd(): PlainBegin<P> | undefined {
    if (this.#pastEnd === undefined) return undefined
    const { perPage, own } = this
    // If the list has moved, records may have slipped past the earlier pages.
    if (this.hasSteppedBack || this.isResumed || this.#pastEnd < this.#deepest)
      return fromFirstPage('no_count', perPage)
    const begin = fromFirstPage<P>('no_count', perPage)
    return { ...begin, from: this.#pastEnd + 1, ceiling: own.ceiling, seen: this.seen }
  }

  /**
   * Whether the page that showed more than its total counts does so again. If the source counts before or after it
   * queries its page, a record may arrive in between.
   */
  async isPastEndStill(): Promise<boolean> {
    if (this.#pastEnd === undefined) return false
    const page = await this.fetch(this.#pastEnd, this.perPage)
    const isPast = placesUpTo(page, this.perPage) > page.total && this.own.balance().distinct > page.total
    return isPast || isMoreThanCounted(page)
  }

  get seen(): Seen {
    const { own } = this
    const { distinct, last: total } = own.balance()
    return { has: (id) => own.has(id), distinct, total, mayHide: own.ties.found }
  }

  get deepest(): number {
    return this.#deepest
  }

  /** The source answers every page with the same one: there is no other. */
  get isAtEnd(): boolean {
    return this.#repeats.areMany
  }

  /** The number of the last page that was read, in list order. */
  get lastPage(): number {
    return this.#last?.page ?? 1
  }

  /** Whether the page repeats the last one or the first, and so isn't a place in the list. */
  isShownAgain(page: WalkPage<P>): boolean {
    return this.#repeats.has(page)
  }

  /** The list didn't change and showed more than its total counts, so the total is wrong. */
  get isMoreThanCounted(): boolean {
    return !this.isResumed && (this.places.still(this.own)?.hidden ?? 0) < 0
  }

  /** The page after the last one, unless that one showed that none follows. */
  get behind(): number | undefined {
    const { page, isFull, isNew } = this.#last ?? { page: 1, isFull: true, isNew: true }
    return isFull && isNew ? page + 1 : undefined
  }

  fetch(page: number, perPage: number): Promise<WalkPage<P>> {
    return fetchPage(this.walk.list, page, perPage)
  }

  /** Bursts are for the first reading: a list whose books didn't close is read again in strict order. */
  readAhead(): number {
    return this.number === 1 ? this.walk.list.readAhead() : 0
  }

  /** Moves to a page. `last`: the last page as far as known. */
  goTo(next: number, last: number): void {
    Object.assign(this.place, { next, last, total: this.own.last })
  }

  /** The pages from its place on, beginning with a first page that has already arrived. */
  async *pages(): AsyncGenerator<ListStep<P>, void> {
    const { first } = this
    this.first = undefined
    if (first) yield { is: 'next', page: first }
    if (!this.isOver) yield* pages(this, this.place)
  }

  /** Enters a page into the books. Returns the ids that no earlier page showed. */
  enter(step: Pick<PageStep<P>, 'is' | 'page' | 'before'>): readonly Int64[] {
    const { page, before } = step
    const isInOrder = step.is === 'next'
    this.#look(page)
    const { fresh, fell } = this.#response(page, isInOrder, true)
    this.#followTies(page, isInOrder, fell)
    // After a fall, records may have slipped past this page, so the progress doesn't move.
    if (before) this.#progress?.burst(page, before)
    else if (fell === 0) this.#progress?.vouch(page)
    return fresh
  }

  /** Notes where the page meets the one before it, since records of one time may hide there. */
  #followTies(page: WalkPage<P>, isInOrder: boolean, fell: number): void {
    const edges = edgesOf(page)
    const { ties } = this.own
    if (!edges) return
    if (!isInOrder) ties.hold(edges)
    else if (fell === 0 && !this.#repeats.isOne) ties.follow(edges)
    else ties.glimpse(edges)
  }

  /** What commits with a page. */
  commit(fresh: readonly Int64[]): Commit {
    return this.#progress?.commit(fresh) ?? {}
  }

  /** Decides which records of a page have entered the list. `before`: the versions that the warehouse had. */
  judge(page: WalkPage<P>, before: (id: Int64) => string | undefined): void {
    const { own, joint, walk } = this
    const entered = own.judge(page.observed, before)
    this.#progress?.entered(entered)
    if (joint !== own) joint.judge(page.observed, before)
    walk.stored(page)
  }

  /** Takes what a step says beyond its page. */
  follow(step: ListStep<P>): void {
    if (step.is === 'still') this.#vouch(step.upTo)
    else if (step.is === 'moved') this.#stopProgress()
    else if (step.is === 'total') this.#observe(step.total)
    if ('back' in step && step.back) this.steppedBack(step.back)
  }

  /** Enters a page of the late zone that is read again. The caller stores it. */
  see(page: WalkPage<P>): ReturnType<Book['response']> {
    const edges = edgesOf(page)
    if (edges) this.own.ties.glimpse(edges)
    return this.#response(page, true, false)
  }

  #observe(total: number): void {
    for (const book of this.books) book.response(total, [])
  }

  #vouch(page: WalkPage<P>): void {
    this.own.ties.followHeld()
    this.#progress?.vouch(page)
  }

  #stopProgress(): void {
    this.own.ties.dropHeld()
    this.#progress?.stopProgress()
  }

  steppedBack(back: StepBack): void {
    this.hasSteppedBack = true
    this.walk.list.note('Records were deleted while the list was read: stepping back', { ...back })
  }

  /** Checks the list for anomalies before the books know the page. */
  #look(page: WalkPage<P>): void {
    const { observed } = page
    // A page that is read again shows nothing new, but that doesn't make it the end.
    const isNew = page.page <= this.#deepest || isNews(page, this.own)
    this.#deepest = Math.max(this.#deepest, page.page)
    this.#last = { page: page.page, isFull: this.walk.size.isFull(page, this.perPage), isNew }
    this.walk.isUnordered ||= isOutOfOrder(observed, (id) => this.own.has(id))
    // A repeat of the last page isn't a place in the list.
    this.#repeats.take(page)
    if (!this.#repeats.isOne && goesPastEnd(page, this.perPage, { ...this.seen, mayHide: false }))
      this.#pastEnd = page.page
    this.walk.search.isOverfull ||= !this.#repeats.isOne && placesUpTo(page, this.perPage) > page.total
    if (!this.#repeats.isOne) this.places.take(observed, this.own)
    this.walk.noteHoles(page)
  }

  /**
   * Totals of overlapping responses have no order: for a response out of order, a book keeps its total until the next
   * `observe`.
   */
  #response(page: WalkPage<P>, inOrder: boolean, isOnward: boolean): ReturnType<Book['response']> {
    const { own, joint, perPage } = this
    if (isMoreThanCounted(page)) this.#pastEnd = page.page
    refuseLoss(page.total, own.last)
    const totalFor = (book: Book): number => (inOrder ? page.total : book.last)
    const at = page.clocks?.source ?? forever
    const place: Place | undefined = isOnward
      ? { page: page.page, perPage, isInOrder: inOrder, at, isAnew: !this.isResumed }
      : undefined
    const response = own.response(totalFor(own), page.observed, place)
    this.#progress?.entered(response.created)
    if (joint !== own) joint.response(totalFor(joint), page.observed, place)
    this.walk.noteResponse(page, inOrder ? own : undefined)
    return response
  }
}

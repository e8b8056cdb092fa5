/**
 * The walk: reads a list that moves while it is read, newest record first, and decides what the reading can claim.
 * run/cursorwalk.ts walks a cursor with it, features/reconcile a whole list.
 */
import { Bug } from '../base/errors.js'
import { beginReading, resumeReading } from './beginwalk.js'
import type { PlainBegin } from './behind.js'
import type { Book } from './books.js'
import { closeReading, lookPast, readZone } from './closebooks.js'
import { isOpen, judgeReading, numbersOf } from './evidence.js'
import { readPlainly, readUnsteady } from './plain.js'
import { Reading } from './reading.js'
import type { List, Store, WalkOutcome, WalkPage, WalkPlan } from './types.js'
import { movesWatermark } from './verdict.js'
import { mayReadOn, WalkState } from './walkstate.js'

/** The result of one reading. */
interface ReadingEnd {
  readonly outcome: WalkOutcome
  /** Another reading wouldn't reveal more. */
  readonly isFinal: boolean
  /** The books that the next reading continues, if only ties keep them open. */
  readonly joint?: Book | undefined
}

/**
 * A walk is one reading of the list, or several. A reading goes through these states:
 *
 * 1. Begin: opens the books with the first page. If the list has one page, the walk ends here. The first reading
 *    continues where an earlier process stopped, if that left progress for this floor and the list hasn't lost too many
 *    records.
 * 2. Read: takes page after page into the books and the warehouse, with progress in the first reading. Steps back when
 *    the total falls (pages.ts). Goes to 3 at the end of the list: a page that isn't full or shows nothing new.
 * 3. Close: reads the first page again until it shows nothing new, and reads newer records too. If the list never stops
 *    changing, the reading ends as `unproven`.
 * 4. Judge: reads a late zone of more than a page again if the list has stirred, and the page past the end if records
 *    are missing. A verdict that moves the watermark commits with the last page and ends the walk.
 * 5. Again: begins another reading with the next page size, and joins the books of the readings if only ties keep them
 *    open. If no reading is left, the walk ends as `unproven`.
 *
 * A list that isn't newest first, or has no reliable total, leaves these states: plain.ts reads every page of it. In
 * every state, a source that shows far too few records ends the walk with a Skip, and so does an error of the list or of
 * the store. The committed progress stays for the next run.
 */
export class Walk<P> {
  readonly #state: WalkState<P>

  constructor(list: List<P>, store: Store<P>, plan: WalkPlan) {
    this.#state = new WalkState(list, store, plan)
  }

  /** Throws Skip if the list can't be read or isn't trusted. */
  async run(): Promise<WalkOutcome> {
    let end: ReadingEnd | undefined
    for (let number = 1; this.#mayRead(number, end?.joint); number++) {
      end = await this.#read(number, end?.joint)
      if (end.isFinal) return end.outcome
      this.#state.list.note('The books of the walk do not close', { pass: number, ...end.outcome.books })
    }
    if (!end) throw new Bug('A walk needs a page size')
    return end.outcome
  }

  #mayRead(number: number, joint: Book | undefined): boolean {
    if (number <= this.#state.size.sizes.length) return true
    return joint !== undefined && mayReadOn(number, joint.last)
  }

  /** Reads the list once: begins, reads to its end, closes the books, judges. */
  async #read(number: number, joint: Book | undefined): Promise<ReadingEnd> {
    const { sizes } = this.#state.size
    const perPage = sizes[(number - 1) % sizes.length] ?? 100
    const resumed = number === 1 ? await resumeReading(this.#state, perPage) : undefined
    const begun = resumed ?? (await beginReading(this.#state, number, perPage, joint))
    if (!(begun instanceof Reading)) return { outcome: begun, isFinal: true }
    const plain = await this.#readOn(begun, perPage)
    if (plain) return { outcome: plain, isFinal: true }
    // A response with more than its total counts ended the reading but was a slip: the list is read again.
    const outcome = begun.readPastEnd ? this.#moving(begun) : await this.#close(begun)
    const { isShort, isLoose } = begun.joint
    const isJoined = !isLoose && (isShort || this.#state.search.before !== undefined)
    return { outcome, isFinal: movesWatermark(outcome), joint: isJoined ? begun.joint : undefined }
  }

  /** Reads on to the end of the list. Returns an outcome if the list's order or total is unreliable. */
  async #readOn(reading: Reading<P>, perPage: number): Promise<WalkOutcome | undefined> {
    await this.#readPages(reading)
    if (this.#state.isUnordered) return readPlainly(this.#state, 'order', { from: 1, pages: [], perPage })
    const beyond = await this.#readPast(reading, reading.behind)
    if (beyond) return readPlainly(this.#state, 'no_count', beyond)
    const { readPastEnd } = reading
    const isUncounted = readPastEnd && (await reading.isPastEndStill())
    return isUncounted ? readPlainly(this.#state, 'no_count', readPastEnd) : undefined
  }

  /** Takes page after page, from the reading's place to the end of the list, as far as the total shows it. */
  async #readPages(reading: Reading<P>): Promise<void> {
    for await (const step of reading.pages()) {
      if ('page' in step) {
        const fresh = reading.enter(step)
        const before = await this.#state.store(step.page, reading.commit(fresh))
        reading.judge(step.page, before)
      }
      reading.follow(step)
      if (reading.isOver) return
    }
  }

  /** Reads on while the list goes on. Returns where to continue if the total is wrong. */
  async #readPast(reading: Reading<P>, from: number | undefined): Promise<PlainBegin<P> | undefined> {
    for (let behind = from; ; behind = reading.behind) {
      const more = await lookPast(reading, behind)
      if (more !== 'more') return more
      await this.#readPages(reading)
    }
  }

  /** Closes the books, and commits the verdict with the last page. */
  async #close(reading: Reading<P>): Promise<WalkOutcome> {
    if (reading.isAbandoned) return readUnsteady(this.#state, reading.own)
    const { store } = this.#state
    let last = await this.#lastPage(reading)
    if (last && isOpen(reading) && this.#lacksEnd(reading)) {
      await store(last, {})
      const { distinct } = reading.own.balance()
      const beyond = await this.#readPast(reading, reading.lastPage + 1)
      if (beyond) return readPlainly(this.#state, 'no_count', beyond)
      if (reading.own.balance().distinct > distinct) last = await this.#lastPage(reading)
    }
    if (last && ((await reading.isPastEndStill()) || reading.isMoreThanCounted)) {
      await store(last, {})
      return readPlainly(this.#state, 'no_count', { from: 1, pages: [], perPage: reading.perPage })
    }
    if (!last) return this.#moving(reading)
    const isLastReading = !this.#mayRead(reading.number + 1, reading.joint)
    const outcome = judgeReading(reading, isLastReading)
    await store(last, movesWatermark(outcome) ? { progress: null, outcome } : {})
    return outcome
  }

  /** The last page, which isn't stored yet. undefined if the list never stopped changing. */
  async #lastPage(reading: Reading<P>): Promise<WalkPage<P> | undefined> {
    const closing = await closeReading(reading)
    return closing && readZone(reading, closing)
  }

  /** Whether records are counted but not seen, and the place past the end hasn't been checked for them. */
  #lacksEnd({ own, places, number }: Reading<P>): boolean {
    const { search, isWhole, hidden } = this.#state
    const { last, distinct } = own.balance()
    // If ties may have shown one record in place of another, a first reading proves nothing.
    const still = number > 1 ? places.still(own) : undefined
    const missing = still?.hidden ?? last - distinct - places.repeated
    return !search.isEndSeen && missing > (isWhole ? 0 : hidden)
  }

  /** The list never stopped changing. */
  #moving({ own }: Reading<P>): WalkOutcome {
    return this.#state.outcome({ basis: { by: 'nothing', reason: 'moving' } }, numbersOf(own))
  }
}

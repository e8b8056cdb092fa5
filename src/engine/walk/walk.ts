/**
 * The walk: reads a list that moves while it is read, newest record first, and says what the reading can claim.
 * run/cursorwalk.ts walks a cursor with it, sync/reconcile a whole list.
 */
import { Bug } from '../base/errors.js'
import { beginReading, resumeReading } from './beginwalk.js'
import type { Book } from './books.js'
import { closeReading, readToEnd, readZone } from './closebooks.js'
import { isOpen, judgeReading, numbersOf } from './evidence.js'
import { readPlainly, readUnsteady } from './plain.js'
import { Reading } from './reading.js'
import type { WalkOutcome, WalkPage, WalkPlan, WalkPort } from './types.js'
import { movesWatermark } from './verdict.js'
import { WalkState } from './walkstate.js'

/** A list is read so often at most, where the only fault is that ties hide records. */
const mostReadings = 25
/** A longer list is not worth so many readings: it is read once with each page size. */
const oftenUpTo = 5000

/**
 * The states of a walk (docs/architecture.md, Why a walk can be complete), and what may happen in each:
 *
 * 1. Resume (first reading only): counts how far an earlier process had come. Goes on to 3; or to 2, where there is no
 *    progress for this floor or the list has lost too many records.
 * 2. Begin: opens the books with the first page. A list of one page ends the walk here.
 * 3. Read: takes page after page into the books and the warehouse, with progress in the first reading; steps back when
 *    the total falls. Goes on to 4 at the end of the list, which is a page that is not full, or shows nothing new.
 * 4. Close: reads the first page again until it shows nothing new; newer records are read as well. Goes on to 5; or,
 *    where the list never stands still, to 6 as `unproven`.
 * 5. Judge: reads a late zone of more than a page once more, if the list has stirred, and the page behind the end, if
 *    records are missing. `proven` or `repaired` commits with the last page and ends the walk. `unproven` goes on to 6.
 * 6. Again: goes on to 2 with the next page size, and joins the books of the readings where only ties keep them open.
 *    Without a reading left, the walk ends as `unproven`.
 *
 * A list that is not newest first, or has no total to rely on, leaves these states: plain.ts reads every page of it.
 * In states 1 to 5 a source that shows far too few records ends the walk with a Skip; in every state an error of the port
 * ends it too. The committed progress stays for the next run.
 */
export class Walk<P> {
  readonly #state: WalkState<P>

  constructor(port: WalkPort<P>, plan: WalkPlan) {
    this.#state = new WalkState(port, plan)
  }

  /** Throws Skip when the list cannot be read or is not believed. */
  async run(): Promise<WalkOutcome> {
    const { port } = this.#state
    const { size } = this.#state
    const mayRead = (number: number, joint: Book | undefined): boolean =>
      number <= size.sizes.length ||
      (joint !== undefined && number <= mostReadings && joint.last <= oftenUpTo)
    let joint: Book | undefined
    let outcome: WalkOutcome | undefined
    for (let number = 1; mayRead(number, joint); number++) {
      const perPage = size.sizes[(number - 1) % size.sizes.length] ?? 100
      const resumed = number === 1 ? await resumeReading(this.#state, perPage) : undefined
      const reading = resumed ?? (await beginReading(this.#state, number, perPage, joint))
      if (!(reading instanceof Reading)) return reading
      if (this.#state.isUnordered) return readPlainly(this.#state, 'order', { from: 1, pages: [], perPage })
      const beyond = await readToEnd(reading, reading.behind)
      if (beyond) return readPlainly(this.#state, 'no_count', beyond)
      const { overrun } = reading
      if (overrun && (await reading.isOverrunStill())) return readPlainly(this.#state, 'no_count', overrun)
      // An answer that was a slip has ended the reading: the list is read again.
      outcome = overrun
        ? this.#moving(reading)
        : await this.#end(reading, !mayRead(number + 1, reading.joint))
      if (movesWatermark(outcome)) return outcome
      port.note('The books of the walk do not close', { pass: number, ...outcome.books })
      const { isShort, isLoose } = reading.joint
      joint = !isLoose && (isShort || this.#state.search.before) ? reading.joint : undefined
    }
    if (!outcome) throw new Bug('A walk needs a page size')
    return outcome
  }

  async #end(reading: Reading<P>, isFinal: boolean): Promise<WalkOutcome> {
    if (reading.isAbandoned) return readUnsteady(this.#state, reading.own)
    const { port } = this.#state
    let last = await this.#close(reading)
    if (last && isOpen(reading) && this.#lacksEnd(reading)) {
      await port.store(last, {})
      const { distinct } = reading.own.balance()
      const beyond = await readToEnd(reading, reading.lastPage + 1)
      if (beyond) return readPlainly(this.#state, 'no_count', beyond)
      if (reading.own.balance().distinct > distinct) last = await this.#close(reading)
    }
    if (last && ((await reading.isOverrunStill()) || reading.isMoreThanCounted)) {
      await port.store(last, {})
      return readPlainly(this.#state, 'no_count', { from: 1, pages: [], perPage: reading.perPage })
    }
    if (!last) return this.#moving(reading)
    const outcome = judgeReading(reading, isFinal)
    await port.store(last, movesWatermark(outcome) ? { progress: null, outcome } : {})
    return outcome
  }

  /** The list never stood still. */
  #moving({ own }: Reading<P>): WalkOutcome {
    return this.#state.outcome({ basis: { by: 'nothing', reason: 'moving' } }, numbersOf(own))
  }

  /** The last page, which is not stored yet; undefined where the list never stood still. */
  async #close(reading: Reading<P>): Promise<WalkPage<P> | undefined> {
    const closing = await closeReading(reading)
    return closing && readZone(reading, closing)
  }

  /** Whether records are counted and not seen, and nobody has looked yet whether they stand behind the end. */
  #lacksEnd({ own, places, number }: Reading<P>): boolean {
    const { search, isWhole, hidden } = this.#state
    const { last, distinct } = own.balance()
    // Where ties may have shown one record in the place of another, a first reading says nothing.
    const still = number > 1 ? places.still(own) : undefined
    const missing = still?.hidden ?? last - distinct - places.repeated
    return !search.isEndSeen && missing > (isWhole ? 0 : hidden)
  }
}

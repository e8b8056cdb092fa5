/**
 * The walk: reads a list that moves while it is read, newest record first, and says what the reading can claim.
 * sync/walks/incremental.ts walks a cursor with it, sync/reconcile a whole list.
 */
import { Bug } from '../errors.js'
import { beginReading } from './begin.js'
import type { Book } from './books.js'
import { closeReading } from './close.js'
import { judgeReading, outcomeOf } from './judge.js'
import { pageBeyond } from './overrun.js'
import { readPlainly, readUnsteady } from './plain.js'
import { Reading } from './reading.js'
import { resumeReading } from './resume.js'
import { movesWatermark, type WalkOutcome, type WalkPlan, type WalkPort } from './types.js'
import { WalkState } from './walkstate.js'
import { readZone } from './zone.js'

/** Page sizes of the readings: coprime, so that each reading cuts the records of one `updated_at` at other places. */
export const pageSizes = [100, 97, 89, 83, 79] as const
/** A list is read so often at most, where the only fault is that ties hide records. */
const mostReadings = 25
/** A longer list is not worth so many readings: it is read once with each page size. */
const oftenUpTo = 5000

/**
 * The states of a walk (docs/architecture.md, The walk), and what may happen in each:
 *
 * 1. Resume (first reading only): counts how far an earlier process had come. Goes on to 3; or to 2, where there is no
 *    progress for this floor or the list has lost too many records.
 * 2. Begin: opens the books with the first page. A list of one page ends the walk here.
 * 3. Read: takes page after page into the books and the warehouse, with progress in the first reading; steps back when
 *    the total falls. Goes on to 4 at the end of the list.
 * 4. Close: reads the first page again until it shows nothing new; newer records are read as well. Goes on to 5; or,
 *    where the list never stands still, to 6 as `unproven`.
 * 5. Judge: reads a late zone of more than a page once more, if the list has stirred. `proven` or `repaired` commits with
 *    the last page and ends the walk. `unproven` goes on to 6.
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
    const { port, plan } = this.#state
    const sizes = plan.pageSizes
    const mayRead = (number: number, joint: Book | undefined): boolean =>
      number <= sizes.length || (joint !== undefined && number <= mostReadings && joint.last <= oftenUpTo)
    let joint: Book | undefined
    let outcome: WalkOutcome | undefined
    for (let number = 1; mayRead(number, joint); number++) {
      const perPage = sizes[(number - 1) % sizes.length] ?? 100
      const resumed = number === 1 ? await resumeReading(this.#state, perPage) : undefined
      const reading = resumed ?? (await beginReading(this.#state, number, perPage, joint))
      if (!(reading instanceof Reading)) return reading
      if (this.#state.isUnordered) return readPlainly(this.#state, 'order')
      const beyond = await pageBeyond(reading)
      if (beyond) return readPlainly(this.#state, 'no_count', beyond)
      outcome = await this.#end(reading, !mayRead(number + 1, reading.joint))
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
    const closing = await closeReading(reading)
    if (!closing) return this.#state.tell(outcomeOf(reading.own, 'unproven', 'moving'))
    const last = await readZone(reading, closing)
    const outcome = this.#state.tell(judgeReading(reading, isFinal))
    await this.#state.port.store(last, movesWatermark(outcome) ? { progress: null, outcome } : {})
    return outcome
  }
}

/**
 * The walk: reads a list that moves while it is read, newest record first, and decides what the reading can claim.
 * run/cursorwalk.ts walks a cursor with it, features/reconcile a whole list.
 */
import { openReading } from './beginwalk.js'
import { fromFirstPage, type PlainBegin } from './behind.js'
import type { Book } from './books.js'
import { closeReading, lookPast } from './closebooks.js'
import { isOpen, judgeReading, numbersOf } from './evidence.js'
import { readPlainly, readUnsteady } from './plain.js'
import { Reading } from './reading.js'
import type { List, Store, WalkOutcome, WalkPlan } from './types.js'
import { movesWatermark } from './verdict.js'
import { mayReadOn, WalkState } from './walkstate.js'

/**
 * A walk is one reading of the list, or several. A reading goes through these states:
 *
 * 1. Open: opens the books with the first page. If the list has one page, the walk ends here. The first reading
 *    continues where an earlier process stopped, if that left progress for this floor and the list hasn't lost too many
 *    records.
 * 2. Read: takes page after page into the books and the warehouse, with progress in the first reading. Steps back when
 *    the total falls (pages.ts). Goes to 3 at the end of the list: a page that isn't full or shows nothing new.
 * 3. Close: reads the first page again until it shows nothing new, and reads newer records too. If the list never stops
 *    changing, the reading ends as `unproven`. Reads a late zone of more than a page again if the list has stirred, and
 *    the page past the end if records are missing. A verdict that moves the watermark commits with the last page and
 *    ends the walk.
 * 4. Again: begins another reading with the next page size, and joins the books of the readings if only ties keep them
 *    open. If no reading is left, the walk ends as `unproven`.
 *
 * A list that isn't newest first, or has no reliable total, leaves these states: plain.ts reads every page of it. In
 * every state, a source that shows far too few records ends the walk with a Skip, and so does an error of the list or of
 * the store. The committed progress stays for the next run.
 */
export async function walk<P>(list: List<P>, store: Store<P>, plan: WalkPlan): Promise<WalkOutcome> {
  const state = new WalkState(list, store, plan)
  let joint: Book | undefined
  for (let number = 1; ; number++) {
    const perPage = state.size.of(number)
    const reading = await openReading(state, number, perPage, joint)
    if (!(reading instanceof Reading)) return reading
    await readPages(reading)
    const odd = await oddityOf(reading, perPage)
    if (odd) return readPlainly(state, odd)
    const outcome = await close(reading)
    if (movesWatermark(outcome)) return outcome
    list.note('The books of the walk do not close', { pass: number, ...outcome.books })
    joint = jointAfter(reading)
    if (!mayReadAgain(reading, joint)) return outcome
  }
}

/** Takes page after page, from the reading's place to the end of the list, as far as the total shows it. */
async function readPages<P>(reading: Reading<P>): Promise<void> {
  const { store } = reading.walk
  for await (const step of reading.pages()) {
    if ('page' in step) {
      const fresh = reading.enter(step)
      const previous = await store(step.page, reading.commit(fresh))
      reading.judge(step.page, previous)
    }
    reading.follow(step)
    if (reading.isOver) return
  }
}

/** Reads on while the list goes on. Returns where to continue if the total is wrong. */
async function readPast<P>(
  reading: Reading<P>,
  from: number | undefined,
): Promise<PlainBegin<P> | undefined> {
  for (let behind = from; ; behind = reading.behind) {
    const more = await lookPast(reading, behind)
    if (more !== 'more') return more
    await readPages(reading)
  }
}

/** Where a plain reading begins, if the list's order or total turns out to be unreliable at its end. */
async function oddityOf<P>(reading: Reading<P>, perPage: number): Promise<PlainBegin<P> | undefined> {
  if (reading.walk.isUnordered) return fromFirstPage('order', perPage)
  const beyond = await readPast(reading, reading.behind)
  if (beyond) return beyond
  const { readPastEnd } = reading
  return readPastEnd && (await reading.isPastEndStill()) ? readPastEnd : undefined
}

/** Closes the books, and commits the verdict with the last page. */
async function close<P>(reading: Reading<P>): Promise<WalkOutcome> {
  const { walk } = reading
  // A response with more than its total counts ended the reading but was a slip: the list is read again.
  if (reading.readPastEnd) return moving(reading)
  if (reading.isAbandoned) return readUnsteady(walk, reading.own)
  let last = await closeReading(reading)
  if (last && isOpen(reading) && lacksEnd(reading)) {
    await walk.store(last, {})
    const { distinct } = reading.own.balance()
    const beyond = await readPast(reading, reading.lastPage + 1)
    if (beyond) return readPlainly(walk, beyond)
    if (reading.own.balance().distinct > distinct) last = await closeReading(reading)
  }
  if (last && ((await reading.isPastEndStill()) || reading.isMoreThanCounted)) {
    await walk.store(last, {})
    return readPlainly(walk, fromFirstPage('no_count', reading.perPage))
  }
  if (!last) return moving(reading)
  const outcome = judgeReading(reading, !mayReadAgain(reading, reading.joint))
  await walk.store(last, movesWatermark(outcome) ? { progress: null, outcome } : {})
  return outcome
}

/** Whether records are counted but not seen, and the place past the end hasn't been checked for them. */
function lacksEnd<P>({ own, places, number, walk }: Reading<P>): boolean {
  const { search, isWhole, hidden } = walk
  const { last, distinct } = own.balance()
  // If ties may have shown one record in place of another, a first reading proves nothing.
  const still = number > 1 ? places.still(own) : undefined
  const missing = still?.hidden ?? last - distinct - places.repeated
  return !search.isEndSeen && missing > (isWhole ? 0 : hidden)
}

/** The list never stopped changing. */
const moving = <P>({ own, walk }: Reading<P>): WalkOutcome =>
  walk.outcome({ basis: { by: 'nothing', reason: 'moving' } }, numbersOf(own))

/** The book that the next reading continues, if only ties keep it open. */
function jointAfter<P>({ joint, walk }: Reading<P>): Book | undefined {
  const { isShort, isLoose } = joint
  return !isLoose && (isShort || walk.search.before !== undefined) ? joint : undefined
}

function mayReadAgain<P>({ number, walk }: Reading<P>, joint: Book | undefined): boolean {
  if (number < walk.size.sizes.length) return true
  return joint !== undefined && mayReadOn(number + 1, joint.last)
}

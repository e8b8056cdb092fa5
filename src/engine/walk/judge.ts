import type { Reason } from '../base/reasons.js'
import { type Finding, nothingOdd } from './anomalies.js'
import type { Book } from './books.js'
import { isKnownSurplus, isSameList, type StillList } from './countmismatch.js'
import type { Reading } from './reading.js'
import type { WalkOutcome } from './types.js'
import type { WalkState } from './walkstate.js'

export const outcomeOf = (
  book: Book,
  verdict: WalkOutcome['verdict'],
  reason: Reason | null,
): WalkOutcome => ({ verdict, ceiling: book.ceiling, books: book.balance(), reason })

/** The verdict on a reading whose last page showed nothing new (docs/architecture.md, Why a walk can be complete). */
export function judgeReading<P>(reading: Reading<P>, isFinal: boolean): WalkOutcome {
  const { walk, places, own, joint } = reading
  const { search } = walk
  const still = reading.isResumed ? undefined : places.still(own)
  const closed = closedOutcome(reading)
  search.beside = Math.max(search.beside, places.beside)
  const twice = still?.twice ?? search.beside
  if (closed.verdict !== 'unproven') return withFinding(walk, closed, { twice })
  const { before } = search
  search.follow(still, joint.balance().distinct - search.beside)
  return (still && settled(reading, { before, still, isFinal })) ?? closed
}

/** The outcome with what is odd about the list, if anything is. */
function withFinding<P>(
  { holes }: WalkState<P>,
  outcome: WalkOutcome,
  { twice = 0, hidden = 0 }: Partial<Finding>,
): WalkOutcome {
  const isOdd = twice + hidden + holes.size > 0
  if (!isOdd) return outcome
  const finding = { ...nothingOdd, twice, hidden, holes: [...holes.values()] }
  const isTwice = outcome.verdict !== 'unproven' && twice > 0
  return { ...outcome, ...(isTwice && { verdict: 'repaired', reason: 'listed_twice' }), finding }
}

/** So many readings of a still list in a row that bring nothing new: ties that change their order hide nothing more. */
const steadyReadings = 5

/** Whether the books do not close, as far as they were read. */
export const isOpen = <P>(reading: Reading<P>): boolean => closedOutcome(reading).verdict === 'unproven'

interface Settling {
  readonly before: StillList | undefined
  readonly still: StillList
  readonly isFinal: boolean
}

/**
 * The outcome where totals and records disagree in the same way in two readings of a list that stood still, or as
 * earlier walks have settled. Where ties may hide records, only a long search settles that some are never shown.
 */
function settled<P>(
  { walk, own }: Reading<P>,
  { before, still, isFinal }: Settling,
): WalkOutcome | undefined {
  const { plan, search } = walk
  const { total, twice, hidden, shown } = still
  const isKnown = isKnownSurplus(still, plan.known, own.ties.found)
  const isSame = before !== undefined && isSameList(before, still) && search.all === shown
  const notShown = (amount: number): WalkOutcome =>
    withFinding(walk, outcomeOf(own, 'unproven', 'counted_not_shown'), { twice, hidden: amount })
  if (isFinal && search.all < total && search.steady >= steadyReadings) return notShown(total - search.all)
  if ((!isKnown && !isSame) || hidden + twice === 0) return undefined
  if (hidden === 0) return withFinding(walk, outcomeOf(own, 'repaired', 'listed_twice'), { twice })
  return isKnown || isFinal || !own.ties.found ? notShown(hidden) : undefined
}

/** The verdict of the books. */
function closedOutcome<P>({ walk, own, joint, number, hasSteppedBack }: Reading<P>): WalkOutcome {
  // As many records as are counted need not be all, where the total counts too few and ties may hide others.
  if (walk.search.isOverfull && own.ties.found) return outcomeOf(own, 'unproven', 'ties')
  const standing = own.standing()
  const joined = joint === own ? standing : joint.standing()
  if (standing === 'closed' && number === 1 && !hasSteppedBack) return outcomeOf(own, 'proven', null)
  if (standing === 'closed') return outcomeOf(own, 'repaired', 'read_again')
  if (standing === 'complete') return outcomeOf(own, 'repaired', 'read_again')
  if (joined !== 'open') return outcomeOf(joint, 'repaired', 'ties')
  const mayHide = own.ties.found
  return outcomeOf(own, 'unproven', mayHide ? 'ties' : 'totals_disagree')
}

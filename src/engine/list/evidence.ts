/** Gathers the evidence from a reading, for verdict.ts. */
import type { Book } from './books.js'
import { isKnownMismatch, isSameList, type StillList } from './countmismatch.js'
import type { Reading } from './reading.js'
import { standingOf } from './standing.js'
import type { WalkOutcome } from './types.js'
import { type Basis, type Evidence, verdict } from './verdict.js'

export const numbersOf = (book: Book): Pick<WalkOutcome, 'ceiling' | 'books'> => ({
  ceiling: book.ceiling,
  books: book.balance(),
})

/** The outcome of a reading whose last page showed nothing new. */
export function judgeReading<P>(reading: Reading<P>, isFinal: boolean): WalkOutcome {
  const { walk, own, joint } = reading
  const evidence = evidenceOf(reading, isFinal)
  return walk.outcome(evidence, numbersOf(isClosedByJoint(evidence.basis) ? joint : own))
}

function evidenceOf<P>(reading: Reading<P>, isFinal: boolean): Evidence {
  const { walk, places, own, joint } = reading
  const { search } = walk
  const still = reading.isResumed ? undefined : places.still(own)
  search.beside = Math.max(search.beside, places.beside)
  if (!isOpen(reading)) return { ...closing(reading), twice: still?.twice ?? search.beside }
  const { before } = search
  search.follow(still, joint.balance().distinct - search.beside)
  const mismatch = still && settled(reading, { before, still, isFinal })
  return { ...closing(reading, mismatch !== undefined), ...mismatch }
}

const closing = <P>(
  { own, joint, walk, number, hasSteppedBack }: Reading<P>,
  isSettled = false,
): Evidence => ({
  basis: {
    by: 'books',
    own: own.counted,
    joint: joint.counted,
    isOverfull: walk.search.isOverfull,
    isSettled,
  },
  isReadAgain: number > 1 || hasSteppedBack,
})

/** Whether the books fail to close, as far as they have been read. */
export const isOpen = <P>(reading: Reading<P>): boolean => verdict(closing(reading)).verdict === 'unproven'

/** Whether only the books shared with earlier readings close; then their numbers are reported. */
const isClosedByJoint = (basis: Basis): boolean =>
  basis.by === 'books' &&
  !basis.isSettled &&
  !(basis.isOverfull && basis.own.hasTies) &&
  standingOf(basis.own) === 'open' &&
  standingOf(basis.joint) !== 'open'

/**
 * After this many consecutive readings of an unchanged list that find nothing new, ties that change their order hide
 * nothing more.
 */
const steadyReadings = 5

/**
 * The records listed twice, and those counted but not shown, if totals and records disagree in the same way in two
 * readings of an unchanged list, or as earlier walks have settled. If ties may hide records, only a long search settles
 * that some are never shown.
 */
function settled<P>(
  { walk, own }: Reading<P>,
  {
    before,
    still,
    isFinal,
  }: {
    readonly before: StillList | undefined
    readonly still: StillList
    readonly isFinal: boolean
  },
): { readonly twice: number; readonly hidden: number } | undefined {
  const { plan, search } = walk
  const { total, twice, hidden, shown } = still
  const isKnown = isKnownMismatch(still, plan.known, own.ties.found)
  const isSame = before !== undefined && isSameList(before, still) && search.all === shown
  if (isFinal && search.all < total && search.steady >= steadyReadings)
    return { twice, hidden: total - search.all }
  if ((!isKnown && !isSame) || hidden + twice === 0) return undefined
  return hidden === 0 || isKnown || isFinal || !own.ties.found ? { twice, hidden } : undefined
}

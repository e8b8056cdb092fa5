/**
 * The verdict: the one place that decides what can be claimed about a list. Everybody else gathers evidence and asks
 * here. docs/dev/architecture.md, Why a walk can be complete, has the argument; its premises are in docs/guarantees.md.
 */
import type { Reason } from '../base/reasons.js'
import { type Counted, standingOf } from './standing.js'

/** What can be claimed about the completeness of a list. */
export type Verdict = (typeof worstFirst)[number]
export const worstFirst = ['unproven', 'listed', 'repaired', 'proven'] as const

export interface Claim {
  readonly verdict: Verdict
  /** Why the verdict isn't `proven`, or an anomaly of the list that doesn't weaken it. */
  readonly reason: Reason | null
}

/** What a claim rests on: how the records that were seen compare with those that the source counts. */
export type Basis =
  /** One response showed the whole list or range, except for `missing` records. */
  | { readonly by: 'page'; readonly missing: number }
  /** The books of a reading, and those that it shares with the readings before it. */
  | {
      readonly by: 'books'
      readonly own: Counted
      readonly joint: Counted
      /**
       * A page showed more places than the total counts: with ties, seeing as many records as counted doesn't have to
       * mean all.
       */
      readonly isOverfull: boolean
      /**
       * They don't close, but only because of records that are known to be listed twice, or counted but never shown.
       */
      readonly isSettled: boolean
    }
  /** A range of a list, read page by page. */
  | {
      readonly by: 'range'
      readonly seen: number
      /** Records of the range at the beginning and at the end of the reading, by the source's count. */
      readonly expected: number
      readonly left: number
      readonly hasFallen: boolean
      readonly hasTies: boolean
      readonly isUnordered: boolean
    }
  /** Every id of a list that isn't newest first. */
  | {
      readonly by: 'ids'
      /** Every response had the same total. */
      readonly isSteady: boolean
      readonly total: number
      /** Distinct records of this reading, and of all readings since the total last changed. */
      readonly shown: number
      readonly together: number
      /** Places that show a record again, and whether another reading or an earlier walk found the same. */
      readonly twice: number
      readonly isSettled: boolean
    }
  /** A list without a reliable total, read until a page showed that none follows. */
  | { readonly by: 'end'; readonly mayHide: boolean }
  /** The counts of the source and of the warehouse, at the end of a comparison. */
  | { readonly by: 'counts'; readonly isEven: boolean }
  /** Several looks at the list: the claim is no better than the weakest of them. */
  | { readonly by: 'looks'; readonly looks: readonly Evidence[] }
  /** The list wasn't read to an end that proves anything. */
  | { readonly by: 'nothing'; readonly reason: Reason | null }

/** Everything known about a list when it is judged. Whatever is left out was looked for and not found. */
export interface Evidence {
  readonly basis: Basis
  /** Places in doubt were read again, the walk stepped back, or it continued where an earlier one stopped. */
  readonly isReadAgain?: boolean
  readonly isUnordered?: boolean | undefined
  /** Places that show a record again. */
  readonly twice?: number | undefined
  /** Records that are counted but never shown. */
  readonly hidden?: number
  /** Places for which no page answers. */
  readonly holes?: number | undefined
  /** Records are stamped ahead of the source's clock. */
  readonly isAhead?: boolean
  /** How many more records the source counts without a time filter. */
  readonly beforeAll?: number
  /** Records that can't be stored. */
  readonly unstorable?: number
  /** Records that the source has in an older version than the warehouse, which keeps its own. */
  readonly keptNewer?: number
  /** Rows that went back along with the source, because two requests by id confirmed the older version. */
  readonly followedBack?: number
  /** Records that the source shows differently by id and in its list. */
  readonly differing?: number
  /** Records that the list and its total no longer contain and that the source has by id: found for the first time. */
  readonly left?: number | undefined
  /** The same, confirmed on another day or at a person's request. */
  readonly leftBefore?: number
}

/** The part of what is remembered about a list (memory.ts) that affects its verdict. */
export interface Remembered {
  /** What the list counts but never shows, and in how many searches that was found. */
  readonly surplus?: { readonly searches: number; readonly total: number; readonly shown: number } | undefined
  readonly twice?: number | undefined
  readonly isUnordered?: boolean | undefined
  readonly isUncounted?: boolean | undefined
  readonly holes?: readonly unknown[] | undefined
}

/**
 * Records are known to be counted but never shown once a second search, on another day or by request, found the same.
 */
const searchesForFact = 2
/**
 * A list that hides more than this share of its records isn't believed to be whole, however often that is found: its
 * pages may be empty from the second one on. Fewer hidden records than `fewHidden` are believed whatever their share.
 */
const mostHidden = 0.2
const fewHidden = 5

/** Whether it is a fact that the list shows no more. */
export const isSettledAsHidden = ({ searches, total, shown }: NonNullable<Remembered['surplus']>): boolean =>
  searches >= searchesForFact && (total - shown < fewHidden || total - shown <= total * mostHidden)

/**
 * Reasons that leave a verdict unproven although everything that the source shows is stored: another walk would find no
 * more.
 */
const shownIsStored: ReadonlySet<Reason | null> = new Set<Reason>([
  'counted_not_shown',
  'unreadable',
  'before_all',
  'left_the_list',
])

/** Whether the watermark may move, although it may pass records that the source counts but doesn't show. */
export const movesWatermark = ({ verdict, reason }: Claim): boolean =>
  verdict !== 'unproven' || shownIsStored.has(reason)

const proven: Claim = { verdict: 'proven', reason: null }
const repaired = (reason: Reason): Claim => ({ verdict: 'repaired', reason })
const listed = (reason: Reason): Claim => ({ verdict: 'listed', reason })
const unproven = (reason: Reason | null): Claim => ({ verdict: 'unproven', reason })

/**
 * What can be claimed: the worst of what the evidence allows and of what is remembered about the list. Of several
 * reasons, it returns the one with the worst verdict, and among those the more specific one. The memory already
 * includes the walk's findings; if there is one, it determines how often hidden records were searched for.
 */
export function verdict(evidence: Evidence, memory?: Remembered): Claim {
  const claims = [...claimsOf(evidence, memory)].sort((one, other) => rank(one) - rank(other))
  const [worst = unproven(null)] = claims
  const isPlain = worst.reason === null || worst.reason === 'read_again' || worst.reason === 'ties'
  const isNamed = isPlain && worst.verdict !== 'unproven' && isAheadIn(evidence)
  return isNamed ? { ...worst, reason: 'future_stamps' } : worst
}

/** Adds the verdict and what goes with it to an outcome. */
export const judged = <O extends object>(
  evidence: Evidence,
  outcome: O,
  memory?: Remembered,
): O & Claim & { readonly evidence: Evidence } => ({ ...outcome, ...verdict(evidence, memory), evidence })

/** Only a claim that keeps the watermark from moving ranks below the other unproven ones. */
const rank = (claim: Claim): number => (movesWatermark(claim) ? 1 + worstFirst.indexOf(claim.verdict) : 0)

const isAheadIn = ({ isAhead = false, basis }: Evidence): boolean =>
  isAhead || (basis.by === 'looks' && basis.looks.some(isAheadIn))

/** The best that each part of the evidence allows, the more specific reason first. */
function* claimsOf(evidence: Evidence, memory: Remembered | undefined): Generator<Claim> {
  const { basis, unstorable = 0, keptNewer = 0, followedBack = 0, differing = 0 } = evidence
  const { beforeAll = 0, hidden = 0, twice = 0, holes = 0, left = 0, leftBefore = 0 } = evidence
  if (unstorable > 0) yield unproven('record_unstorable')
  if (keptNewer > 0) yield unproven('source_went_back')
  if (differing > 0) yield unproven('answers_differ')
  if (holes > 0 || memory?.holes?.length) yield unproven('unreadable')
  const surplus = memory?.surplus
  if (surplus && isSettledAsHidden(surplus)) yield listed('counted_not_shown')
  else if (surplus || (!memory && hidden > 0)) yield unproven('counted_not_shown')
  if (beforeAll > 0) yield unproven('before_all')
  if (left > 0) yield unproven('left_the_list')
  if (memory?.isUncounted) yield listed('no_count')
  if (evidence.isUnordered || memory?.isUnordered) yield repaired('order')
  if (twice > 0 || memory?.twice) yield repaired('listed_twice')
  if (followedBack > 0) yield repaired('source_went_back')
  if (leftBefore > 0) yield repaired('left_the_list')
  yield* claimsOfBasis(basis, memory)
  if (evidence.isReadAgain) yield repaired('read_again')
}

function* claimsOfBasis(basis: Basis, memory: Remembered | undefined): Generator<Claim> {
  switch (basis.by) {
    case 'page':
      yield basis.missing > 0 ? unproven(null) : proven
      break
    case 'books':
      yield ofBooks(basis)
      break
    case 'range':
      yield ofRange(basis)
      break
    case 'ids':
      yield isAgreed(basis) ? repaired('order') : unproven('order')
      break
    case 'end':
      yield basis.mayHide ? unproven('ties') : listed('no_count')
      break
    case 'counts':
      // If there are places for which no page answers, they are what is missing.
      yield basis.isEven ? proven : unproven(memory?.holes?.length ? 'unreadable' : 'totals_disagree')
      break
    case 'looks':
      for (const look of basis.looks) yield* claimsOf(look, memory)
      break
    case 'nothing':
      yield unproven(basis.reason)
  }
}

/** `proven`: one reading's books closed (unless it was read again, see Evidence). */
function ofBooks({ own, joint, isOverfull, isSettled }: Extract<Basis, { by: 'books' }>): Claim {
  if (isSettled) return repaired('read_again')
  if (isOverfull && own.hasTies) return unproven('ties')
  const standing = standingOf(own)
  if (standing === 'closed') return proven
  if (standing === 'complete') return repaired('read_again')
  if (standingOf(joint) !== 'open') return repaired('ties')
  return unproven(own.hasTies ? 'ties' : 'totals_disagree')
}

/**
 * The rule of the books, for a range: all were seen, or all that were left after the walk stepped back for each fall.
 */
function ofRange(range: Extract<Basis, { by: 'range' }>): Claim {
  const { seen, expected, left, hasFallen, hasTies, isUnordered } = range
  // If a record leaves as another one arrives, a list in any order misses it: see premises of docs/guarantees.md.
  if (isUnordered)
    return !hasFallen && left === expected && seen >= expected ? repaired('order') : unproven('order')
  if (!hasFallen && seen >= expected) return proven
  if (hasFallen && !hasTies && seen >= left) return repaired('read_again')
  return unproven(hasTies ? 'ties' : 'totals_disagree')
}

/**
 * Whether the ids agree with a total that didn't change, in one reading or, if the order changes, in all of them
 * together.
 */
function isAgreed({ isSteady, total, shown, together, twice, isSettled }: Extract<Basis, { by: 'ids' }>) {
  if (!isSteady) return false
  if (together === total || (shown === total && twice === 0)) return true
  return (shown === total || shown + twice === total) && isSettled
}

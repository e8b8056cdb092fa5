/* Which lists' deletions a round checks: those not checked for longest, as many as its requests suffice for. */

import { toMillis } from '../../engine/base/timestamp.js'
import { quietCost } from '../../engine/compare/comparisoncost.js'

interface CheckedList {
  readonly deletes_checked_at: string | null
  readonly live_rows: number | bigint | null
}

interface CheckRules {
  /** In milliseconds since the epoch. */
  readonly now: number
  /** `polling.deletes`, in milliseconds. */
  readonly deletes: number
  readonly budget: number | undefined
}

/**
 * A check is due from half of the interval on. If it fails, or finds no request left, there is time for another try.
 */
const dueFrom = 0.5
/** The assumed rows of a list of unknown size. */
const usualRows = 1000

/** Requests of a check that finds nothing: the walk before it, and the comparison. */
const costOf = ({ live_rows }: CheckedList): number => 1 + quietCost(Number(live_rows ?? usualRows))

/**
 * The lists in order of the share of the interval that has passed since their last check. The first check always fits.
 */
export function chooseChecks<L extends CheckedList>(
  lists: readonly L[],
  { now, deletes, budget = Number.POSITIVE_INFINITY }: CheckRules,
): L[] {
  const passed = ({ deletes_checked_at: at }: L): number => (at === null ? 1 : (now - toMillis(at)) / deletes)
  const due = lists
    .map((list) => ({ list, share: passed(list) }))
    .filter(({ share }) => share >= dueFrom)
    .toSorted((a, b) => b.share - a.share)
  let left = budget
  const chosen: L[] = []
  for (const { list } of due) {
    if (left <= 0) break
    left -= costOf(list)
    if (left >= 0 || chosen.length === 0) chosen.push(list)
  }
  return chosen
}

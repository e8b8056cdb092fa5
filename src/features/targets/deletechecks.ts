/*
 * Which lists' deletions a round checks: those not checked for longest, as many as its requests suffice for. And how many
 * requests that takes, so that each list is checked within `polling.deletes`.
 */

import { toMillis } from '../../engine/base/timestamp.js'
import { quietCost } from '../../engine/compare/comparisoncost.js'
import { memoryOf, usualPage } from '../../engine/list/memory.js'
import { readJson } from '../../engine/warehouse/database.js'
import { Highest } from './highest.js'

interface CheckedList {
  readonly deletes_checked_at: string | null
  readonly live_rows: number | bigint | null
  readonly remembered?: unknown
}

/** What the choice of checks depends on. */
interface CheckTimes {
  /** In milliseconds since the epoch. */
  readonly now: number
  /** `polling.deletes`, in milliseconds. */
  readonly deletes: number
  /** The most records to request at once. */
  readonly pageSize: number
}

const hourMs = 3_600_000
/**
 * A check is due from half of the interval on. If it fails, or finds no request left, there is time for another try.
 */
const dueFrom = 0.5
/** From here on it doesn't depend on what polls leave. */
const lateFrom = 0.75
/** Since when a list must not have been checked for a check to be due, in milliseconds since the epoch. */
export const checkDueSince = ({ now, deletes }: Pick<CheckTimes, 'now' | 'deletes'>): number =>
  now - dueFrom * deletes
/** The assumed rows of a list of unknown size. */
const usualRows = 1000
/** How finely the times that are left are told apart. */
const parts = 100
/** The share of the interval that is left for checks that fail or take more requests than expected. */
const spare = 0.05

/** Requests of a check that finds nothing: the walk before it, and the comparison. */
const costOf = ({ live_rows, remembered }: CheckedList, pageSize: number): number =>
  1 + quietCost(Number(live_rows ?? usualRows), usualPage(memoryOf(readJson(remembered ?? null)), pageSize))

/** The checks that are due, taken one by one. */
export class DueChecks<L extends CheckedList> {
  /** Requests by the time left; the first are overdue. */
  readonly #load = new Array<number>(parts).fill(0)
  readonly #longest: Highest<{ readonly list: L; readonly share: number }>

  /** `most`: how many may be chosen. */
  constructor(
    private readonly times: CheckTimes,
    most: number,
  ) {
    this.#longest = new Highest(most, ({ share }) => share)
  }

  take(list: L): void {
    const { now, deletes } = this.times
    const at = list.deletes_checked_at
    const share = at === null ? 1 : (now - toMillis(at)) / deletes
    if (share < dueFrom) return
    this.#longest.take({ list, share })
    // A list that was never checked comes first, but nothing was promised of it yet.
    const left = at === null ? dueFrom : Math.max(0, 1 - share)
    const part = Math.min(parts - 1, Math.floor((left / (1 - dueFrom)) * parts))
    this.#load[part] = (this.#load[part] ?? 0) + costOf(list, this.times.pageSize)
  }

  /**
   * Requests an hour that suffice to check each list in time. `isLate`: a list has waited for most of its interval, so
   * that its check shouldn't depend on what polls leave.
   */
  get need(): { readonly anHour: number; readonly isLate: boolean } {
    let sum = 0
    let needed = 0
    for (const [part, load] of this.#load.entries()) {
      sum += load
      const left = ((part / parts) * (1 - dueFrom) - spare) * this.times.deletes
      if (load > 0) needed = Math.max(needed, sum / Math.max(1, left / hourMs))
    }
    const late = this.#load.slice(0, Math.floor((parts * (1 - lateFrom)) / (1 - dueFrom)))
    return { anHour: needed, isLate: late.some((load) => load > 0) }
  }

  /** The longest unchecked first. The first one always fits. */
  chosen(budget = Number.POSITIVE_INFINITY): L[] {
    let left = budget
    const chosen: L[] = []
    for (const { list } of this.#longest.end()) {
      if (left <= 0) break
      left -= costOf(list, this.times.pageSize)
      if (left >= 0 || chosen.length === 0) chosen.push(list)
    }
    return chosen
  }
}

/* How many requests a round may use: what the rate limit leaves until the round ends. Pure. */

/** The rate limit, as reported by the source. Times in milliseconds. */
export interface WindowNow {
  readonly limit: number
  readonly remaining: number
  readonly resetsAt: number
  /** Of a complete window. */
  readonly length: number
}

/** The share of a budget left for pages beyond the first one of a list. */
const forPages = 0.1
/** The share of a round's budget for the checks of deletions that follow. */
const leastChecks = 0.1
const mostChecks = 0.5

/** What one window gives us: `reserve` of it is left to others. */
const usable = (limit: number, reserve: number): number => Math.max(1, Math.floor(limit * (1 - reserve)))

export const windowAnHour = ({ limit, length }: WindowNow, reserve: number): number =>
  (usable(limit, reserve) * 3_600_000) / length

/**
 * How many requests a round may plan: what is left of this window, and the complete windows until the round's end. A
 * round that ends before the window gets its part of what is left; otherwise the first rounds of an hour would leave
 * nothing to the others.
 */
export function budgetOf(
  window: WindowNow,
  { now, until, reserve }: { readonly now: number; readonly until: number; readonly reserve: number },
): number {
  const { limit, remaining, resetsAt, length } = window
  const left = Math.max(0, remaining - Math.ceil(limit * reserve))
  const part = resetsAt > until ? Math.max(0, until - now) / Math.max(1, resetsAt - now) : 1
  const whole = Math.max(0, Math.floor((until - Math.max(now, resetsAt)) / length)) * usable(limit, reserve)
  return Math.floor((left * part + whole) * (1 - forPages))
}

/** The end of a round: its time limit, else the next planned instant of its job, else an hour. In milliseconds. */
export function roundEnd(
  now: number,
  { limit, next }: { readonly limit?: number | undefined; readonly next?: readonly number[] | undefined },
): number {
  if (limit !== undefined) return limit
  const [first, second] = next ?? []
  if (first === undefined) return now + 3_600_000
  // A job that started late has little time left until its next instant, so its round lasts until the one after that.
  const isLate = second !== undefined && first - now < (second - first) / 2
  return isLate ? second : first
}

/**
 * Until when the budget of a round reaches. Of a window that outlasts the round, what lies between its time limit and the
 * next planned instant of its job would be nobody's: the round takes that too.
 */
export function budgetEnd(
  now: number,
  {
    endsAt,
    resetsAt,
    next = [],
  }: { readonly endsAt: number; readonly resetsAt: number; readonly next?: readonly number[] | undefined },
): number {
  if (next.length === 0 || resetsAt <= endsAt) return endsAt
  return Math.max(endsAt, Math.min(resetsAt, roundEnd(now, { next })))
}

/**
 * How many requests of a round are for its checks of deletions: as many as make them in time, up to half of the budget,
 * and at least a tenth once a check is late. Before that, what polls leave may do: each check made early comes again early.
 */
export const reservedForChecks = (
  budget: number,
  { needed, isLate }: { readonly needed: number; readonly isLate: boolean },
): number => Math.ceil(Math.min(budget * mostChecks, Math.max(isLate ? budget * leastChecks : 0, needed)))

/** What the checks may plan: what is reserved for them, and what polls left of the budget. */
export const afterPolls = (budget: number, used: number, reserved: number): number =>
  Math.max(reserved, budget - used)

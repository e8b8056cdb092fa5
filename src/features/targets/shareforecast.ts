/*
 * What share of the changes can be in the warehouse within their targets, for a given number of requests per hour.
 * Closed formulas, pure: polling by score gives intervals in proportion to √(τ/λ) (pollranking.ts). All times are in
 * hours.
 */

import type { Int64 } from '../../../schema/resource.js'

/** A list, with its expected values. */
export interface ExpectedList {
  readonly resource: string
  /** Whose target it is, where the tenant has its own. */
  readonly tenantId?: Int64 | undefined
  /** Changes per hour. */
  readonly rate: number
  readonly target: number
}

/** How long a list may wait between two polls. */
interface Limits {
  readonly bound: number
}

/** The interval of a list: the larger θ, the fewer requests. */
const intervalOf = ({ rate, target }: ExpectedList, theta: number, bound: number): number =>
  Math.min(bound, Math.max(target / 4, Math.sqrt((theta * target) / rate)))

const requestsFor = (lists: readonly ExpectedList[], theta: number, bound: number): number =>
  lists.reduce((sum, list) => sum + 1 / intervalOf(list, theta, bound), 0)

/** Number of bisections of the logarithm: θ is accurate to a millionth. */
const steps = 60

/** The smallest argument between e^-30 and e^30 at which a decreasing function is at most this value. */
function whereAtMost(most: number, value: (argument: number) => number): number {
  let [low, high] = [-30, 30]
  for (let step = 0; step < steps; step++) {
    const middle = (low + high) / 2
    if (value(Math.exp(middle)) > most) low = middle
    else high = middle
  }
  return Math.exp(high)
}

const shareAt = (lists: readonly ExpectedList[], theta: number, bound: number): number => {
  let [met, all] = [0, 0]
  for (const list of lists) {
    met += list.rate * Math.min(1, list.target / intervalOf(list, theta, bound))
    all += list.rate
  }
  return all === 0 ? 1 : met / all
}

/** The share that this many requests per hour allow. */
export function forecastShare(
  lists: readonly ExpectedList[],
  requestsAnHour: number,
  { bound }: Limits,
): {
  /** Share of the changes, 0 to 1. */
  readonly share: number
  /** The same for some of the lists. */
  shareOf(some: readonly ExpectedList[]): number
} {
  const theta = whereAtMost(requestsAnHour, (one) => requestsFor(lists, one, bound))
  const shareOf = (some: readonly ExpectedList[]): number => shareAt(some, theta, bound)
  return { share: shareOf(lists), shareOf }
}

/**
 * The requests per hour needed for this share of the changes in the judged lists. The requests for all lists count: one
 * ranking chooses among them, so a round that polls the judged ones often enough also polls the others.
 *
 * The ranking polls busy lists more often than once per target, so for very different rates its requests may add up to more
 * than one poll per list and target, with which every change is in time. Nobody needs more requests for some of the
 * changes than for all of them, so that is the most that is returned. With so many, the ranking comes within a few percent
 * of the share.
 */
export function requestsForShare(
  lists: readonly ExpectedList[],
  share: number,
  { bound, isJudged = () => true }: Limits & { isJudged?(list: ExpectedList): boolean },
): number {
  const judged = lists.filter((list) => isJudged(list))
  const theta = whereAtMost(-share, (one) => -shareAt(judged, 1 / one, bound))
  return Math.min(requestsFor(lists, 1 / theta, bound), requestsForAll(lists, { bound }))
}

/** The requests per hour needed to have every change in time, whenever it comes. */
export const requestsForAll = (lists: readonly ExpectedList[], { bound }: Limits): number =>
  lists.reduce((sum, { target }) => sum + 1 / Math.min(target, bound), 0)

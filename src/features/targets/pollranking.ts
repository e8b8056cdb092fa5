/*
 * Which lists a round polls, best first. Pure: `sync --due` and its simulation share this ranking. All times are in
 * hours. docs/freshness.md explains the value of a poll.
 */

/** A list that has been read before. */
export interface PolledList {
  readonly resource: string
  /** Time since its last poll. */
  readonly waited: number
  /** What its polls found, and over how many hours (engine/run/polls.ts). */
  readonly news: number
  readonly hours: number
  /** Events that wait for a walk of it: how many, and the sum of their ages. */
  readonly events: number
  readonly eventAges: number
}

/** Changes per hour over all lists of a resource: the expectation for a list that is still unknown. */
export function meanRates(lists: Iterable<Pick<PolledList, 'resource' | 'news' | 'hours'>>) {
  const sums = new Map<string, { news: number; hours: number }>()
  for (const { resource, news, hours } of lists) {
    const sum = sums.get(resource)
    if (sum) {
      sum.news += news
      sum.hours += hours
    } else sums.set(resource, { news, hours })
  }
  const meanOf = (resource: string): number => {
    const { news, hours } = sums.get(resource) ?? { news: 0, hours: 0 }
    return (news + 0.5) / (hours + 10)
  }
  return meanOf
}

/** The expected changes per hour in a list. */
export const changeRate = ({ news, hours }: Pick<PolledList, 'news' | 'hours'>, mean: number): number =>
  (news + 1) / (hours + 1 / mean)

/** The expected delay so far of everything that waits in a list, counted in targets; announced changes are certain. */
export const scoreOf = (
  { waited, eventAges }: Pick<PolledList, 'waited' | 'eventAges'>,
  rate: number,
  target: number,
): number => (rate * waited * waited) / (2 * target) + eventAges / target

/** Whether a poll may be worth its request: before a quarter of the target, only if something was announced. */
const isCandidate = ({ waited, events }: PolledList, target: number): boolean =>
  waited >= target / 4 || events > 0

/**
 * How long a list may wait before it takes precedence over all others: `atLeast`, unless polling all lists that often
 * takes more than half of the window. Then it is longer, by the same factor for all.
 */
export function boundOf(
  atLeast: number,
  { lists, windowAnHour }: { readonly lists: number; readonly windowAnHour: number | undefined },
): number {
  if (windowAnHour === undefined) return atLeast
  return Math.max(atLeast, lists / (windowAnHour / 2))
}

export interface RoundRules {
  targetOf(resource: string): number
  /** See `boundOf`. */
  readonly bound: number
  /** Requests; undefined if no limit is known. */
  readonly budget: number | undefined
}

/** The lists of a round, in the order in which they are started. */
export interface ChosenLists<L, U> {
  readonly polled: readonly L[]
  /** Lists that were never read. They come last: reading one may take more requests than all others together. */
  readonly unread: readonly U[]
}

/**
 * Chooses the lists of a round. First those that have reached the bound, longest wait first, at most half of the round.
 * Then lists that were never read, at most a quarter while anything else is due. Then the highest scores.
 */
export function chooseLists<L extends PolledList, U>(
  lists: readonly L[],
  unread: readonly U[],
  { targetOf, bound, budget = Number.POSITIVE_INFINITY }: RoundRules,
): ChosenLists<L, U> {
  const due = lists.filter((list) => isCandidate(list, targetOf(list.resource)))
  const overdue = due.filter(({ waited }) => waited >= bound).toSorted((a, b) => b.waited - a.waited)
  const first = overdue.slice(0, Math.ceil(budget / 2))
  const left = budget - first.length
  const isFirst = new Set(first)
  const others = due.filter((list) => !isFirst.has(list))
  const share = budget > 1 ? Math.max(1, Math.floor(budget / 4)) : 0
  const forUnread = Math.min(unread.length, Math.max(Math.min(share, left), left - others.length))
  const meanOf = meanRates(lists)
  const scored = others
    .map((list) => ({
      list,
      score: scoreOf(list, changeRate(list, meanOf(list.resource)), targetOf(list.resource)),
    }))
    .toSorted((a, b) => b.score - a.score)
    .slice(0, Math.max(0, left - forUnread))
  return { polled: [...first, ...scored.map(({ list }) => list)], unread: unread.slice(0, forUnread) }
}

/*
 * Which lists a round polls, best first. Pure: `sync --due` and its simulation share this ranking. All times are in
 * hours. docs/scale.md explains the value of a poll.
 */

import { Highest } from './highest.js'

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
  /** The target of its tenant, where that isn't its resource's. */
  readonly ownTarget?: number | undefined
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

export interface ChoiceRules {
  /** Of the lists of all tenants without one of their own. */
  targetOf(resource: string): number
  /** See `boundOf`. */
  readonly bound: number
  /** Requests an hour that the rate limit gives; undefined if no limit is known. */
  readonly windowAnHour?: number | undefined
  /** Requests; undefined if no limit is known. */
  readonly budget: number | undefined
  /** How long the round lasts, and in how many hours this window of the rate limit ends. Default: neither matters. */
  readonly lasts?: number
  readonly windowEndsIn?: number | undefined
  /** Its number: where a quarter of a round suffices for no first load, one round in several gets them all. Default 0. */
  readonly turn?: number
  /** See `meanRates`. */
  meanOf(resource: string): number
}

/** A tenant's own target comes before its resource's. */
export const targetIn = (
  { resource, ownTarget }: Pick<PolledList, 'resource' | 'ownTarget'>,
  targetOf: (resource: string) => number,
): number => ownTarget ?? targetOf(resource)

/** How finely `Deadlines` tells waits apart. */
const parts = 200
/** The share of the window that lists near the bound can count on: half of it, less what other requests take. */
const forOldest = 0.45
/** Lists are polled at most this part of the bound sooner because their window may be spent early. */
const mostAhead = 0.05

/**
 * How many of the longest waiting lists a round must poll so that none exceeds the bound. Lists that were all read in the
 * same hour reach it in the same hour: if it waited until then, the last of them would come hours late. So those of them
 * that later rounds have no room for are polled earlier, but not before 60% of the bound. Planning further ahead costs
 * more than it saves: most of the other lists will be polled for their changes before. And since a window may be spent
 * before it ends, lists that reach the bound in this window are polled now.
 */
class Deadlines {
  /** Lists by their wait; the last counts those at the bound and beyond. */
  readonly #counts = new Array<number>(parts + 1).fill(0)
  readonly #ahead: number

  constructor(
    private readonly bound: number,
    private readonly windowAnHour = Number.POSITIVE_INFINITY,
    windowEndsIn = 0,
  ) {
    this.#ahead = Math.min(windowEndsIn, mostAhead * bound)
  }

  isNear(waited: number): boolean {
    return waited >= 0.6 * this.bound
  }

  take(waited: number): void {
    const part = Math.min(parts, Math.floor((waited / this.bound) * parts))
    this.#counts[part] = (this.#counts[part] ?? 0) + 1
  }

  /** Lists that this round must poll; more than it can, maybe. */
  get needed(): number {
    let lists = this.#counts[parts] ?? 0
    let needed = lists
    for (let part = parts - 1; part >= 0; part--) {
      lists += this.#counts[part] ?? 0
      const left = this.bound * (1 - (part + 1) / parts) - this.#ahead
      if (left > 0) needed = Math.max(needed, lists - forOldest * this.windowAnHour * left)
      else needed = lists
    }
    return Math.ceil(needed)
  }
}

/** A first load that is cut short and resumed goes on with this many requests, whatever happens in its list meanwhile. */
const leastForUnread = 10

/** What unread lists may take of a round while anything else is due: on average a quarter. */
export function shareForUnread(budget: number, turn: number): number {
  const quarter = Math.floor(budget / 4)
  if (quarter >= leastForUnread) return quarter
  const roundsBetween = Math.ceil(leastForUnread / Math.max(1, quarter))
  return turn % roundsBetween === 0 ? Math.min(leastForUnread, budget) : 0
}

/** How many first loads to start with so many requests: with few, all of them together would finish none. */
const listsFor = (requests: number): number =>
  requests < 3 * leastForUnread ? Math.ceil(requests / 3) : requests

/**
 * Chooses the lists of a round, which it takes one by one. First those that would exceed the bound, longest wait first, at
 * most half of what the rate limit gives. Then lists that were never read, at most a quarter while anything else is due.
 * Then the highest scores.
 */
export class RoundChoice<L extends PolledList> {
  readonly #budget: number
  readonly #others: Highest<L>
  readonly #oldest: Highest<L>
  readonly #deadlines: Deadlines

  constructor(private readonly rules: ChoiceRules) {
    const { targetOf, meanOf, budget = Number.POSITIVE_INFINITY, bound, windowAnHour } = rules
    this.#budget = budget
    this.#deadlines = new Deadlines(bound, windowAnHour, rules.windowEndsIn)
    this.#others = new Highest(budget, (list) =>
      scoreOf(list, changeRate(list, meanOf(list.resource)), targetIn(list, targetOf)),
    )
    // Events and checks may have taken the other half already: what is left all goes to these lists then.
    const half = Math.ceil(Math.max(budget, (windowAnHour ?? 0) * (rules.lasts ?? 0)) / 2)
    this.#oldest = new Highest(Math.min(budget, half), ({ waited }) => waited, this.#others)
  }

  take(list: L): void {
    if (!isCandidate(list, targetIn(list, this.rules.targetOf))) return
    if (!this.#deadlines.isNear(list.waited)) {
      this.#others.take(list)
      return
    }
    this.#deadlines.take(list.waited)
    this.#oldest.take(list)
  }

  /** All lists were taken. */
  chosen<U>(unread: readonly U[]) {
    const budget = this.#budget
    const oldest = this.#oldest.end()
    const first = oldest.slice(0, this.#deadlines.needed)
    for (const list of oldest.slice(first.length)) this.#others.take(list)
    const left = budget - first.length
    const share = unread.length > 0 ? shareForUnread(budget, this.rules.turn ?? 0) : 0
    const forUnread = Math.max(Math.min(share, left), left - this.#others.seen)
    const best = this.#others.end().slice(0, unread.length > 0 ? Math.max(0, left - forUnread) : left)
    return { polled: [...first, ...best], unread: unread.slice(0, listsFor(forUnread)), forUnread }
  }
}

/** The same of lists that are all at hand. */
export function chooseLists<L extends PolledList, U>(
  lists: readonly L[],
  unread: readonly U[],
  rules: Omit<ChoiceRules, 'meanOf'>,
): {
  readonly polled: readonly L[]
  /** Lists that were never read. They come last: reading one may take more requests than all others together. */
  readonly unread: readonly U[]
  /** Requests that the unread lists may take together. */
  readonly forUnread: number
} {
  const choice = new RoundChoice<L>({ ...rules, meanOf: meanRates(lists) })
  for (const list of lists) choice.take(list)
  return choice.chosen(unread)
}

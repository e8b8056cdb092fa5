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

/** The highest of very many, of which no more than about twice as many as are wanted are kept at a time. */
class Highest<T> {
  /** How many were taken. */
  seen = 0
  #kept: { readonly one: T; readonly value: number }[] = []
  #least = Number.NEGATIVE_INFINITY

  /** `rest` takes what is not among the highest. */
  constructor(
    private readonly most: number,
    private readonly worth: (one: T) => number,
    private readonly rest?: Highest<T>,
  ) {}

  take(one: T): void {
    this.seen++
    const value = this.worth(one)
    if (value > this.#least) this.#kept.push({ one, value })
    else this.rest?.take(one)
    if (this.#kept.length > 2 * this.most + 100) this.#cut()
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.value - a.value)
    for (const { one } of this.#kept.splice(this.most)) this.rest?.take(one)
    this.#least = this.#kept[this.most - 1]?.value ?? this.#least
  }

  /** The highest first; among equals, what came first. */
  end(): T[] {
    this.#cut()
    return this.#kept.map(({ one }) => one)
  }
}

export interface ChoiceRules extends RoundRules {
  /** See `meanRates`. */
  meanOf(resource: string): number
}

/**
 * Chooses the lists of a round, which it takes one by one. First those that have reached the bound, longest wait first, at
 * most half of the round. Then lists that were never read, at most a quarter while anything else is due. Then the highest
 * scores.
 */
export class RoundChoice<L extends PolledList> {
  readonly #budget: number
  readonly #others: Highest<L>
  readonly #overdue: Highest<L>

  constructor(private readonly rules: ChoiceRules) {
    const { targetOf, meanOf, budget = Number.POSITIVE_INFINITY } = rules
    this.#budget = budget
    this.#others = new Highest(budget, (list) =>
      scoreOf(list, changeRate(list, meanOf(list.resource)), targetOf(list.resource)),
    )
    this.#overdue = new Highest(Math.ceil(budget / 2), ({ waited }) => waited, this.#others)
  }

  take(list: L): void {
    const { targetOf, bound } = this.rules
    if (!isCandidate(list, targetOf(list.resource))) return
    const highest = list.waited >= bound ? this.#overdue : this.#others
    highest.take(list)
  }

  /** All lists were taken. */
  chosen<U>(unread: readonly U[]): ChosenLists<L, U> {
    const budget = this.#budget
    const first = this.#overdue.end()
    const left = budget - first.length
    const share = budget > 1 ? Math.max(1, Math.floor(budget / 4)) : 0
    const forUnread = Math.min(unread.length, Math.max(Math.min(share, left), left - this.#others.seen))
    const best = this.#others.end().slice(0, Math.max(0, left - forUnread))
    return { polled: [...first, ...best], unread: unread.slice(0, forUnread) }
  }
}

/** The same of lists that are all at hand. */
export function chooseLists<L extends PolledList, U>(
  lists: readonly L[],
  unread: readonly U[],
  rules: RoundRules,
): ChosenLists<L, U> {
  const choice = new RoundChoice<L>({ ...rules, meanOf: meanRates(lists) })
  for (const list of lists) choice.take(list)
  return choice.chosen(unread)
}

/**
 * Simulates shops whose lists change, and a window that is too small to read them all every hour: minute by minute, for
 * three days, after a few that don't count. The product's own code chooses what to poll (pollranking.ts) and keeps what
 * it has learned about each list (engine/run/polls.ts).
 */
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { type Polls, polled } from '../../src/engine/run/polls.js'
import { boundOf, chooseLists, type PolledList } from '../../src/features/targets/pollranking.js'
import { forecastShare } from '../../src/features/targets/shareforecast.js'
import { normal, poisson, randomFrom } from '../../test/support/world/random.js'

/**
 * What each resource's lists are like: changes per hour in a medium-sized shop while it is open, and the target in
 * hours.
 */
const kinds: readonly (readonly [rate: number, target: number])[] = [
  [4, 0.25],
  [2.3, 0.5],
  ...[1, 0.7, 0.5, 0.3, 0.1].map((rate) => [rate, 1] as const),
  ...[1, 0.8, 0.6, 0.45, 0.35, 0.25, 0.15, 0.08].map((rate) => [rate, 4] as const),
  ...[0.02, 0.012, 0.008, 0.005, 0.003, 0.001].map((rate) => [rate, 24] as const),
]
/** Shop sizes are lognormal. */
const spread = 1.2
const atLeast = 24
const opens = 8
const closes = 18
/** Time differences between the shops' clocks, in hours. */
const zones = [0, 1, 2, 3]

export const policies = [
  'round robin',
  'age by target',
  'by expected delay',
  'rates and hours known',
] as const
export type Policy = (typeof policies)[number]

export interface SimulatedOptions {
  readonly tenants: number
  /** Requests per hour, divided by the number of lists. */
  readonly window: number
  readonly policy: Policy
  readonly seed: number
  readonly days?: number
  /** Warm-up days: what polls find is kept, but nothing is counted. */
  readonly daysBefore?: number
  /** The share of the lists that nobody has read at the start. */
  readonly neverRead?: number
}

interface SimulatedList extends PolledList {
  readonly target: number
  /** Changes per hour while its shop is open. */
  readonly rate: number
  readonly zone: number
  polledAt: number
  /** Minutes of the changes that no poll has found yet. */
  waiting: number[]
  polls: Polls
  waited: number
  news: number
  hours: number
}

const timeOf = (minute: number): string => fromMicros(1_767_225_600_000_000n + BigInt(minute) * 60_000_000n)

const isOpen = (zone: number, minute: number): boolean => {
  const hour = (minute / 60 - zone + 24) % 24
  return hour >= opens && hour < closes
}

function listsOf(tenants: number, random: () => number): SimulatedList[] {
  return Array.from({ length: tenants }, (_, tenant) => {
    const size = Math.exp(spread * normal(random))
    return kinds.map(([rate, target], i): SimulatedList => {
      const polledAt = -Math.floor(random() * 120)
      return {
        resource: String(i),
        target,
        rate: rate * size,
        zone: zones[tenant % zones.length] ?? 0,
        polledAt,
        waiting: [],
        waited: 0,
        news: 0,
        hours: 0,
        events: 0,
        eventAges: 0,
        polls: {
          polled_at: timeOf(polledAt),
          news: 0,
          news_unannounced: 0,
          news_hours: 0,
          quiet_since: null,
          quiet_polls: 0,
        },
      }
    })
  }).flat()
}

interface Minute {
  readonly lists: readonly SimulatedList[]
  readonly unread: readonly SimulatedList[]
  readonly budget: number
  readonly windowAnHour: number
  readonly minute: number
}

/** The lists that a policy polls in this minute, of those that were read and of the others. */
function chosenBy(
  policy: Policy,
  { lists, unread, budget, windowAnHour, minute }: Minute,
): Pick<Minute, 'unread'> & { readonly polled: readonly SimulatedList[] } {
  const scores: Readonly<Partial<Record<Policy, (list: SimulatedList) => number>>> = {
    'round robin': ({ waited }) => waited,
    'age by target': ({ waited, target }) => (waited >= atLeast ? 1e9 + waited : waited / target),
    'rates and hours known': ({ waited, target, rate, zone }) => {
      if (waited >= atLeast) return 1e9 + waited
      const now = isOpen(zone, minute) ? rate : 0
      return waited < target / 4 ? -1 : (now * waited * waited) / target
    },
  }
  const score = scores[policy]
  if (score) {
    const polled = lists.toSorted((a, b) => score(b) - score(a)).slice(0, budget)
    return { polled, unread: [] }
  }
  const bound = boundOf(atLeast, { lists: lists.length + unread.length, windowAnHour })
  const targets = new Map(lists.map(({ resource, target }) => [resource, target]))
  const targetOf = (name: string): number => targets.get(name) ?? atLeast
  return chooseLists([...lists], [...unread], { targetOf, bound, windowAnHour, budget, turn: minute })
}

export function simulate({
  tenants,
  window,
  policy,
  seed,
  days = 3,
  daysBefore = 4,
  neverRead = 0,
}: SimulatedOptions) {
  const random = randomFrom(seed)
  const all = listsOf(tenants, random)
  let unread = all.filter(() => neverRead > 0 && random() < neverRead)
  const isUnread = new Set(unread)
  const lists = all.filter((list) => !isUnread.has(list))
  const windowAnHour = window * all.length
  const counts = { met: 0, missed: 0, delay: 0, requests: 0, longest: 0 }
  const first = daysBefore * 1440
  const last = first + days * 1440
  let left = 0
  for (let minute = 0; minute < last; minute++) {
    for (const list of all)
      if (isOpen(list.zone, minute))
        for (let n = poisson(list.rate / 60, random); n > 0; n--) list.waiting.push(minute)
    left += windowAnHour / 60
    const budget = Math.floor(left)
    left -= budget
    for (const list of lists) {
      list.waited = (minute + 1 - list.polledAt) / 60
      if (minute >= first) counts.longest = Math.max(counts.longest, list.waited)
    }
    const chosen = chosenBy(policy, { lists, unread, budget, windowAnHour, minute })
    for (const list of chosen.polled) poll(list, minute + 1, minute >= first ? counts : undefined)
    for (const list of chosen.unread) begin(list, minute + 1)
    lists.push(...chosen.unread)
    if (chosen.unread.length > 0) unread = unread.filter((list) => !chosen.unread.includes(list))
  }
  // Changes that still wait and are already late.
  for (const { waiting, target } of lists)
    counts.missed += waiting.filter((minute) => (last - minute) / 60 > target).length
  const openShare = (closes - opens) / 24
  const expected = all.map(({ resource, rate, target }) => ({ resource, rate: rate * openShare, target }))
  return {
    /** Share of the changes, 0 to 1. */
    met: counts.met / (counts.met + counts.missed),
    /** In minutes. */
    meanDelay: counts.delay / (counts.met + counts.missed),
    /** In hours. */
    longestWait: counts.longest,
    requests: counts.requests,
    /** The closed forecast's share for the same window. */
    forecast: forecastShare(expected, windowAnHour, { bound: atLeast }).share,
  }
}

function poll(
  list: SimulatedList,
  minute: number,
  counts: { met: number; missed: number; delay: number; requests: number } | undefined,
): void {
  const news = Math.min(20, list.waiting.length)
  const after = polled(list.polls, timeOf(minute), { news, unannounced: news })
  if (counts) {
    counts.requests++
    for (const at of list.waiting) {
      counts.delay += minute - at
      if (minute - at <= list.target * 60) counts.met++
      else counts.missed++
    }
  }
  begin(list, minute)
  list.news = after.news ?? list.news
  list.hours = after.news_hours ?? list.hours
  list.polls = { ...list.polls, news: list.news, news_unannounced: list.news, news_hours: list.hours }
}

/** A list that was read completely. */
function begin(list: SimulatedList, minute: number): void {
  list.waiting = []
  list.polledAt = minute
  list.polls = { ...list.polls, polled_at: timeOf(minute) }
}

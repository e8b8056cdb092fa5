/**
 * A year of polls, as arithmetic: shops whose lists change while they are open, and what each poll leaves in the columns of
 * its cursor (engine/run/polls.ts). No warehouse and no source: a year of a list takes milliseconds.
 */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type QuietList, quietList } from '../../../src/features/health/quietlists.js'
import { polled } from '../harness/runs.js'
import { normal, poisson, randomFrom } from './random.js'

/** Changes per hour in a medium-sized shop while it is open. */
const rates = [
  4, 2.3, 1, 0.7, 0.5, 0.3, 0.1, 0.8, 0.6, 0.45, 0.35, 0.25, 0.15, 0.08, 0.02, 0.012, 0.005, 0.001,
]
/** Shop sizes are lognormal. */
const spread = 1.2

/** 2026-01-05, a Monday, at midnight. */
const begin = 1_767_571_200_000_000n
const timeOf = (hour: number): string => fromMicros(begin + BigInt(hour) * 3_600_000_000n)

interface PlayedYear {
  readonly lists: number
  readonly seed: number
  readonly days?: number
  /** From this hour of each list on, the source serves the copy of that hour. */
  readonly frozenAt?: (list: number) => number
  /** Whole days on which all shops are closed. */
  readonly holidays?: ReadonlySet<number>
  /** How long a list has to have been quiet, in hours. Default: 0. */
  readonly after?: number
}

export interface PlayedList {
  /** How often it was called quiet, once for each time until something came. */
  readonly incidents: number
  /** When it was first called so, and when the last poll before had brought something, in hours; undefined if never. */
  readonly found: (QuietList & { readonly at: number }) | undefined
  /** What it usually brought a day at its end, or when the source froze. */
  readonly usual: number
}

/** How many records change in each hour. */
function changing(index: number, random: () => number, { holidays }: PlayedYear) {
  const rate = (rates[index % rates.length] ?? 1) * Math.exp(spread * normal(random))
  const opens = 7 + Math.floor(random() * 3)
  const isOpenOnSaturdays = random() < 0.4
  // Every few weeks somebody imports a list, or tidies it up for some hours.
  const imports = rate < 1 ? 0.002 : 0.0003
  let importing = 0
  return (hour: number): number => {
    const [day, time] = [Math.floor(hour / 24), hour % 24]
    const isOpen = day % 7 < (isOpenOnSaturdays ? 6 : 5) && time >= opens && time < opens + 10
    if (!isOpen || holidays?.has(day)) return 0
    if (random() < imports) importing = 1 + Math.floor(3 * random())
    return poisson(rate, random) + (importing-- > 0 ? Math.floor(80 * random()) : 0)
  }
}

/** What becomes of an hour's poll: once a month none is made for up to two days, because the machine is down. */
function failing(random: () => number) {
  let downUntil = 0
  return (hour: number): 'ok' | 'unproven' | 'none' => {
    if (hour > downUntil && random() < 1 / 720) downUntil = hour + Math.floor(48 * random())
    if (hour < downUntil) return 'none'
    return random() < 0.02 ? 'unproven' : 'ok'
  }
}

function playList(index: number, year: PlayedYear): PlayedList {
  const random = randomFrom(year.seed * 1_000_003 + index)
  const [changes, verdict] = [changing(index, random, year), failing(random)]
  const frozenAt = year.frozenAt?.(index) ?? Number.POSITIVE_INFINITY
  let polls = {
    polled_at: timeOf(0),
    news: 0,
    news_unannounced: 0,
    news_hours: 0,
    quiet_since: null as string | null,
    quiet_polls: 0,
  }
  let [waiting, usual, incidents, isQuiet] = [0, 0, 0, false]
  let found: PlayedList['found']
  for (let hour = 1; hour <= (year.days ?? 365) * 24; hour++) {
    const made = changes(hour)
    if (hour < frozenAt) waiting += made
    const end = verdict(hour)
    if (end === 'none') continue
    const news = Math.min(20, waiting)
    waiting = 0
    const after = polled(polls, timeOf(hour), { news, unannounced: news, isWhole: news > 0 || end === 'ok' })
    usual = after.usual_news ?? usual
    polls = {
      polled_at: timeOf(hour),
      news: after.news ?? polls.news,
      news_unannounced: after.news_unannounced ?? polls.news_unannounced,
      news_hours: after.news_hours ?? polls.news_hours,
      quiet_since: after.quiet_since ?? polls.quiet_since,
      quiet_polls: Number(after.quiet_polls ?? polls.quiet_polls),
    }
    const quiet = quietList({ tenant_id: 1, resource: 'notes', usual_news: usual, ...polls })
    const isLong = quiet !== undefined && timeOf(hour - (year.after ?? 0)) >= quiet.since
    if (isLong && !isQuiet) incidents++
    if (isLong) found ??= { ...quiet, at: hour }
    isQuiet = isLong
  }
  return { incidents, found, usual }
}

export const playYear = (year: PlayedYear): PlayedList[] =>
  Array.from({ length: year.lists }, (_, index) => playList(index, year))

/**
 * The days of time zones: when each begins, and which day an instant falls on. The warehouse's calendar (calendar.ts)
 * and the days of derived rows both use this, so they agree. If clocks go back over midnight, a day begins twice; the
 * first time counts. A day that a zone skipped doesn't exist.
 */
import { IANAZone } from 'luxon'
import type { ShopTime } from '../../../schema/derive.js'
import { Bug } from '../../engine/base/errors.js'
import { fromMicros, minuteOf } from '../../engine/base/timestamp.js'
import { clockText } from '../../engine/warehouse/store/learnedrules.js'
import { calendarYears } from '../../engine/warehouse/views/viewsql.js'

const minuteMs = 60_000
const dayMs = 86_400_000
const daySeconds = 86_400
/** The calendar's first day, 1990-01-01, in days since 1970-01-01. */
export const firstDay = 7305
/** The first day after every calendar that there will be. */
const lastEnd = Date.UTC(calendarYears.end, 0, 1) / dayMs
const yearsAhead = 10

/** Days since 1970-01-01. */
const numberOf = (year: number): number => Date.UTC(year, 0, 1) / dayMs

/** The number of the first day after the calendar, which reaches to the end of the tenth year from now. */
export const endDay = (now: bigint): number =>
  Math.min(numberOf(Number(fromMicros(now).slice(0, 4)) + yearsAhead + 1), lastEnd)

/** A day number as `YYYY-MM-DD`. */
export const dayText = (number: number): string => new Date(number * dayMs).toISOString().slice(0, 10)

/** Consecutive days of 24 hours each, except for the last. */
interface DayRun {
  readonly first: number
  readonly days: number
  /** When the first one begins, in seconds since 1970. */
  readonly start: number
  /** When the last one ends: it may be shorter or longer than 24 hours. */
  readonly end: number
}

/** A stretch of time in which a zone's clocks run evenly. */
interface EvenClock {
  /** The number of its first day. Later ones begin when its clocks show midnight. */
  readonly first: number
  /** In seconds since 1970, as its end. */
  readonly start: number
  readonly end: number
  /** How many seconds its clocks are ahead of UTC. */
  readonly offset: number
}

/** A run whose end isn't known yet: the next one begins there. */
type OpenRun = Omit<DayRun, 'end'>

/** The first day of the day's week; which weekday that is doesn't matter. */
const weekOf = (day: number): number => day - (((day % 7) + 7) % 7)

/** Merges runs that follow each other. */
function append(runs: OpenRun[], { first, days, start }: OpenRun): void {
  const last = runs.at(-1)
  const follows = last && last.first + last.days === first && last.start + last.days * daySeconds === start
  if (follows) runs[runs.length - 1] = { ...last, days: last.days + days }
  else runs.push({ first, days, start })
}

/**
 * Appends a run, and merges it if the one before it goes on. Where clocks went back over midnight, they show the day
 * before until midnight comes again: that is a run by itself.
 */
function appendClock(runs: EvenClock[], run: EvenClock): void {
  const midnight = run.first * daySeconds - run.offset
  if (run.start < midnight && midnight < run.end) {
    runs.push({ ...run, end: midnight }, { ...run, start: midnight })
    return
  }
  const last = runs.at(-1)
  const goesOn = last?.end === run.start && last.offset === run.offset && run.start === midnight
  if (last && goesOn) runs[runs.length - 1] = { ...last, end: run.end }
  else runs.push(run)
}

/** When the days of one zone begin, found on demand. */
class ZoneDays {
  /** undefined: UTC, which needs no lookup. */
  readonly #zone: IANAZone | undefined
  readonly #offsets = new Map<number, number>()
  /** In milliseconds since 1970, by day number. */
  readonly #starts = new Map<number, number>()

  constructor(name: string) {
    this.#zone = name === 'UTC' ? undefined : IANAZone.create(name)
    if (this.#zone?.isValid === false) throw new Bug(`No time zone: ${name}`)
  }

  /** When a day begins, in milliseconds since 1970; if the zone skipped it, when the next day begins. */
  start(day: number): number {
    const known = this.#starts.get(day)
    if (known !== undefined) return known
    const start = this.#find(day)
    this.#starts.set(day, start)
    return start
  }

  /** The days of a range, without those that the zone skipped. */
  runs(from: number, end: number): DayRun[] {
    const runs: OpenRun[] = []
    let day = from
    while (day < end) {
      const days = this.#isQuiet(day) ? Math.min(7, end - day) : 1
      const start = this.start(day)
      // A zone that crosses the date line doesn't have such a day.
      if (days > 1 || start !== this.start(day + 1)) append(runs, { first: day, days, start: start / 1000 })
      day += days
    }
    const last = this.start(end) / 1000
    return runs.map((run, i) => ({ ...run, end: runs[i + 1]?.start ?? last }))
  }

  /** When the clocks change within these runs of days, and where they show the same midnight twice. */
  clockRuns(days: readonly DayRun[]): EvenClock[] {
    const runs: EvenClock[] = []
    for (const { first, days: count, start, end } of days) {
      const last = { first: first + count - 1, start: start + (count - 1) * daySeconds }
      const change = this.#change(last.start, end)
      if (count > 1) appendClock(runs, { first, start, end: last.start, offset: this.#seconds(start) })
      // They may have changed as the last day began, instead of showing midnight.
      if (change > last.start) appendClock(runs, { ...last, end: change, offset: this.#seconds(last.start) })
      if (change < end) appendClock(runs, { ...last, start: change, end, offset: this.#seconds(change) })
    }
    return runs
  }

  #seconds(at: number): number {
    return this.#offset(at * 1000) / 1000
  }

  /** The instant between two at which the offset changes, in seconds; the second one if it doesn't. */
  #change(start: number, end: number): number {
    const [before, after] = [this.#seconds(start), this.#seconds(end - 1)]
    if (before === after) return end
    let [from, to] = [start, end]
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      if (this.#seconds(middle) === before) from = middle
      else to = middle
    }
    return to
  }

  /** Whether the seven days from this one on begin where the offset around them puts them. */
  #isQuiet(day: number): boolean {
    const week = weekOf(day - 1)
    const offset = this.#asked(week)
    return [7, 14, 21].every((days) => this.#asked(week + days) === offset)
  }

  #find(day: number): number {
    const midnight = day * dayMs
    const [before, after] = [this.#atMidnight(day - 1), this.#atMidnight(day + 1)]
    if (before === after) return midnight - before
    // If clocks go back over midnight, the day begins when the old clock shows midnight; otherwise, when the new one
    // does.
    for (const offset of [before, after]) {
      const start = midnight - offset
      if (this.#offset(start) === offset && this.#offset(start - minuteMs) === offset) return start
    }
    return this.#search(day)
  }

  /** The first instant whose local day is this one or later: here clocks skip midnight itself. */
  #search(day: number): number {
    const reached = (at: number): boolean => Math.floor((at + this.#offset(at)) / dayMs) >= day
    let [from, to] = [(day - 2) * dayMs, (day + 2) * dayMs]
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      if (reached(middle)) to = middle
      else from = middle
    }
    return to
  }

  /**
   * The offset at a midnight of UTC. No zone changes its offset and changes it back within a week, so most weeks are
   * known from their ends.
   */
  #atMidnight(day: number): number {
    const week = weekOf(day)
    const [first, last] = [this.#asked(week), this.#asked(week + 7)]
    return first === last ? first : this.#asked(day)
  }

  /** How far local clocks are ahead of UTC, in milliseconds. */
  offsetAt(at: number): number {
    const week = weekOf(Math.floor(at / dayMs))
    const [first, last] = [this.#asked(week), this.#asked(week + 7)]
    return first === last ? first : this.#offset(at)
  }

  /** Cached. */
  #asked(day: number): number {
    const known = this.#offsets.get(day)
    if (known !== undefined) return known
    const offset = this.#offset(day * dayMs)
    this.#offsets.set(day, offset)
    return offset
  }

  #offset(at: number): number {
    return this.#zone === undefined ? 0 : this.#zone.offset(at) * minuteMs
  }
}

const zones = new Map<string, ZoneDays>()

export function daysOf(zone: string): Pick<ZoneDays, 'start' | 'runs' | 'clockRuns' | 'offsetAt'> {
  const known = zones.get(zone)
  if (known) return known
  const days = new ZoneDays(zone)
  zones.set(zone, days)
  return days
}

/**
 * The times in which a zone's clocks run evenly, within a range of days: in seconds since 1970, with the minutes by which
 * the clocks are ahead of UTC, and the minutes that lead to the day. These are more where clocks go back over midnight.
 */
export function evenClocks(zone: string, from: number, until: number) {
  const days = daysOf(zone)
  return days.clockRuns(days.runs(from, until)).map(({ first, start, end, offset }) => ({
    start,
    end,
    clock: offset / 60,
    day: Math.max(offset, first * daySeconds - start) / 60,
  }))
}

const millisOf = (instant: string): number =>
  minuteOf(instant) * minuteMs + Number(instant.slice(17, 23)) * 1000

/**
 * What the calendar and the clocks of a zone show at an instant, which is canonical text; null outside the calendar,
 * which ends before `end` (`endDay`).
 */
export function shopTime(zone: string, instant: string, end: number): ShopTime | null {
  const at = millisOf(instant)
  const days = daysOf(zone)
  const shown = at + days.offsetAt(at)
  const date = Math.floor(shown / dayMs)
  if (date < firstDay - 1 || date > end) return null
  // Where clocks go back over midnight they show a date again, but the day that has begun goes on.
  let day = date + 1
  while (day >= firstDay && days.start(day) > at) day--
  if (day < firstDay || day >= end) return null
  const local = clockText(shown === at ? instant : new Date(shown).toISOString())
  return { day: day === date ? local.slice(0, 10) : dayText(day), local }
}

/** The day of an instant in a zone, `YYYY-MM-DD`; null outside the calendar. */
export const dayOf = (zone: string, instant: string, end: number): string | null =>
  shopTime(zone, instant, end)?.day ?? null

/*
 * When a schedule is due in a time zone. croner decides which local clock readings a schedule means. This file decides
 * which instants these are, since croner drops some of those in a gap of daylight saving time, and repeats some of
 * those that come twice.
 *
 * A fixed hour means once a day: in a gap it is due when the gap ends, and if it comes twice, it is due the first time.
 * If the hour is `*` or a step, the schedule means intervals: every real hour that shows the reading counts.
 */
import { Cron } from 'croner'
import { IANAZone } from 'luxon'

const hour = 3_600_000
/** How far around an instant a change of the zone's offset can matter to it. No change is larger than a day. */
const around = 26 * hour

/** What a schedule means, whatever the zone: local clock readings, written as if they were UTC. */
export function readingsOf(schedule: string): Cron {
  const [, , ofMonth = '', , ofWeek = ''] = schedule.trim().split(/\s+/)
  // crontab(5): a day has to match both fields if one of them begins with *, as */2 does; otherwise one of them.
  const domAndDow = ofMonth.startsWith('*') || ofWeek.startsWith('*')
  return new Cron(schedule, { mode: '5-part', sloppyRanges: true, paused: true, timezone: 'UTC', domAndDow })
}

const meansIntervals = (schedule: string): boolean => /[*/]/.test(schedule.trim().split(/\s+/)[1] ?? '')

/** A zone's offsets from UTC, in milliseconds. */
class Offsets {
  readonly #zone: IANAZone

  constructor(name: string) {
    this.#zone = IANAZone.create(name)
  }

  at(instant: number): number {
    return Math.round(this.#zone.offset(instant) * 60_000)
  }

  /** The instants at which the local clock shows a reading: none in a gap, two if an hour comes twice. */
  showing(reading: number): number[] {
    const offsets = new Set([this.at(reading - around), this.at(reading), this.at(reading + around)])
    return [...offsets]
      .map((offset) => reading - offset)
      .filter((instant) => this.at(instant) === reading - instant)
      .sort((a, b) => a - b)
  }

  /** The instant at which the gap that contains a reading ends. */
  endOfGap(reading: number): number {
    let [before, after] = [reading - around, reading + around]
    const isBefore = (instant: number): boolean => instant + this.at(instant) < reading
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (isBefore(middle)) before = middle
      else after = middle
    }
    return after
  }
}

/** The first instant at which the local clock shows a reading, or the end of its gap; both in microseconds. */
export function firstShowing(reading: bigint, zone: string): bigint {
  const offsets = new Offsets(zone)
  const milliseconds = Number(reading / 1000n)
  return BigInt(offsets.showing(milliseconds)[0] ?? offsets.endOfGap(milliseconds)) * 1000n
}

/** The instants of one schedule in one zone. */
export class Instants {
  readonly #readings: Cron
  readonly #offsets: Offsets
  readonly #isEvery: boolean

  constructor(schedule: string, zone: string) {
    this.#readings = readingsOf(schedule)
    this.#offsets = new Offsets(zone)
    this.#isEvery = meansIntervals(schedule)
  }

  /** The instants that a reading means. */
  #of(reading: number): number[] {
    const shown = this.#offsets.showing(reading)
    if (this.#isEvery) return shown
    return [shown[0] ?? this.#offsets.endOfGap(reading)]
  }

  /** The first instant after a moment, both in milliseconds since the epoch. undefined if the schedule never comes. */
  next(after: number): number | undefined {
    const near = [after - around, after, after + around].map((instant) => this.#offsets.at(instant))
    const least = Math.min(...near)
    const most = Math.max(...near)
    let best: number | undefined
    for (let from = after + least - 1; ; ) {
      const reading = this.#readings.nextRun(new Date(from))?.getTime()
      if (reading === undefined) return best
      // No later reading means an earlier instant.
      if (best !== undefined && reading - most > best) return best
      for (const instant of this.#of(reading))
        if (instant > after && (best === undefined || instant < best)) best = instant
      from = reading
    }
  }

  /** The next instants after a moment, at most `most`. */
  list(after: number, most: number): number[] {
    const found: number[] = []
    for (let at = this.next(after); at !== undefined && found.length < most; at = this.next(at))
      found.push(at)
    return found
  }
}

/* Schedules as in crontab(5). instants.ts computes the instants that a schedule means. */
import { fromMicros } from '../base/timestamp.js'
import { Instants, readingsOf } from './instants.js'

/** The five fields of crontab(5). croner accepts more than cron does (seconds, dates, `@hourly`, `L`, `#`). */
const crontab = /^\s*(?:(?:[\d*,/-]|[a-z]{3})+(?:\s+|$)){5}$/i

/** The next instants of a schedule after a moment, as canonical timestamps. */
export const nextInstants = (schedule: string, zone: string, after: Date, most: number): string[] =>
  new Instants(schedule, zone)
    .list(after.getTime(), most)
    .map((instant) => fromMicros(BigInt(instant) * 1000n))

/**
 * Whether two intervals of a schedule have passed since a moment, judging by its next instants. Milliseconds since the
 * epoch.
 */
export function isTwoIntervalsAgo(schedule: string, zone: string, since: number, now: number): boolean {
  const [first, , third] = new Instants(schedule, zone).list(since, 3)
  return first !== undefined && third !== undefined && now - since > third - first
}

/** Why a text isn't a crontab(5) schedule. undefined if it is one. */
export function cronProblem(text: string): string | undefined {
  const expected = 'five fields: minute hour day-of-month month day-of-week, such as "0 * * * *"'
  if (!crontab.test(text)) return expected
  try {
    return readingsOf(text).nextRun() === null ? 'a day that exists: no year has this one' : undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    return `${expected} (${reason})`
  }
}

import { Cron } from 'croner'
import { fromMicros } from '../timestamp.js'

/** The five fields of crontab(5). croner reads more (seconds, dates, `@hourly`, `L`, `#`) that cron does not. */
const crontab = /^\s*(?:(?:[\d*,/-]|[a-z]{3})+(?:\s+|$)){5}$/i

/** The next instants of a schedule behind a moment, in UTC: canonical timestamps. */
export const nextInstants = (schedule: string, after: Date, most: number): string[] =>
  new Cron(schedule, { mode: '5-part', sloppyRanges: true, paused: true, timezone: 'UTC' })
    .nextRuns(most, after)
    .map((instant) => fromMicros(BigInt(instant.getTime()) * 1000n))

/** Whether two intervals of a schedule are over since a moment, going by its next instants. Milliseconds of the epoch. */
export function isTwoIntervalsAgo(schedule: string, since: number, now: number): boolean {
  const cron = new Cron(schedule, { mode: '5-part', sloppyRanges: true, paused: true, timezone: 'UTC' })
  const [first, , third] = cron.nextRuns(3, new Date(since))
  return first !== undefined && third !== undefined && now - since > third.getTime() - first.getTime()
}

/** Why a text is no schedule of crontab(5); undefined where it is one. */
export function cronProblem(text: string): string | undefined {
  const expected = 'five fields: minute hour day-of-month month day-of-week, such as "0 * * * *"'
  if (!crontab.test(text)) return expected
  try {
    new Cron(text, { mode: '5-part', sloppyRanges: true, paused: true })
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
    return `${expected} (${reason})`
  }
}

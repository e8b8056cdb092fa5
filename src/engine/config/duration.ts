import { DateTime, Duration } from 'luxon'

/** Set explicitly, since looking up the machine's locale takes a hundredth of a second. Durations aren't printed. */
const locale = { locale: 'en-US' }

/** Milliseconds of an ISO 8601 duration such as PT5M. undefined if the text isn't one, or is negative. */
export function parseDuration(text: string): number | undefined {
  const milliseconds = Duration.fromISO(text, locale).toMillis()
  return milliseconds >= 0 ? milliseconds : undefined
}

const timeUnits: ReadonlySet<string> = new Set(['hours', 'minutes', 'seconds', 'milliseconds'])

/** Whether a text is an ISO 8601 duration of whole days, weeks, months or years, such as P30D. */
export function isDays(text: string): boolean {
  const parts = Object.entries(Duration.fromISO(text, locale).toObject())
  const isWhole = parts.every(
    ([unit, amount]) => Number.isInteger(amount) && amount >= 0 && !(timeUnits.has(unit) && amount > 0),
  )
  return isWhole && parts.some(([, amount]) => amount > 0)
}

/** The days (UTC) of such a duration that had ended when today began. */
export function lastDays(text: string, now: Date): { readonly from: Date; readonly to: Date } {
  const to = DateTime.fromJSDate(now, { zone: 'utc' }).startOf('day')
  return { from: to.minus(Duration.fromISO(text, locale)).toJSDate(), to: to.toJSDate() }
}

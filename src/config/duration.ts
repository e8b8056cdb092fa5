import { DateTime, Duration } from 'luxon'

/** Milliseconds of an ISO 8601 duration such as PT5M; undefined when it is none, or negative. */
export function parseDuration(text: string): number | undefined {
  const duration = Duration.fromISO(text)
  if (!duration.isValid) return undefined
  const milliseconds = duration.toMillis()
  return milliseconds >= 0 ? milliseconds : undefined
}

/** Whether a text is an ISO 8601 duration of whole days, weeks, months or years, such as P30D. */
export function isDays(text: string): boolean {
  const duration = Duration.fromISO(text)
  const { hours, minutes, seconds, ...days } = duration.toObject()
  const parts = Object.values(days)
  const isTimeless = !hours && !minutes && !seconds
  return duration.isValid && isTimeless && parts.every(isWhole) && parts.some((part) => (part ?? 0) > 0)
}

const isWhole = (part = 0): boolean => Number.isInteger(part) && part >= 0

/** The days (UTC) of such a duration that were over at the beginning of today. */
export function lastDays(text: string, now: Date): { readonly from: Date; readonly to: Date } {
  const to = DateTime.fromJSDate(now, { zone: 'utc' }).startOf('day')
  return { from: to.minus(Duration.fromISO(text)).toJSDate(), to: to.toJSDate() }
}

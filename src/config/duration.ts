import { Duration } from 'luxon'

/** Milliseconds of an ISO 8601 duration such as PT5M; undefined when it is none, or negative. */
export function parseDuration(text: string): number | undefined {
  const duration = Duration.fromISO(text)
  if (!duration.isValid) return undefined
  const milliseconds = duration.toMillis()
  return milliseconds >= 0 ? milliseconds : undefined
}

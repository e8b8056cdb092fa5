import { Stop } from '../engine/base/errors.js'
import { parseDuration } from '../engine/config/duration.js'

/** The milliseconds that --time-limit gives; undefined where the flag is not there. */
export function timeLimitOf(options: Readonly<Record<string, unknown>>): number | undefined {
  const { timeLimit } = options
  if (timeLimit === undefined) return undefined
  const milliseconds = parseDuration(String(timeLimit))
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds
  throw new Stop(`Found --time-limit "${timeLimit}", expected an ISO 8601 duration longer than nothing`, {
    exitCode: 2,
    hint: 'Type for example --time-limit PT45M',
  })
}

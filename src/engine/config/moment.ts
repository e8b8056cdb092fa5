/* Moments as people type them: an instant, a date, or how long ago. Used by every flag and job that takes one. */
import { Stop } from '../base/errors.js'
import { canonical, fromMicros, nearestInstant, toMicros } from '../base/timestamp.js'
import { parseDuration } from './duration.js'
import { firstShowing } from './instants.js'

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Nothing is older. A number of days that reaches further back means everything. */
const oldest = '0001-01-01T00:00:00.000000Z'

/** Milliseconds of `7d`, `26h` or `P7D`. undefined if the text isn't a duration. */
export function lengthOf(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(s|min|h|d|w)$/i.exec(text) ?? []
  return amount === '' ? parseDuration(text) : Number(amount) * (unitMs[unit.toLowerCase()] ?? 0)
}

function ago(milliseconds: number, now: string): string {
  if (milliseconds * 1000 >= Number(toMicros(now) - toMicros(oldest))) return oldest
  return fromMicros(toMicros(now) - BigInt(Math.round(milliseconds * 1000)))
}

/** The first instant of a day in a zone. undefined if the calendar has no such day. */
function startOf(date: string, timeZone: string): string | undefined {
  const midnight = canonical(`${date}T00:00:00Z`)
  return midnight === null ? undefined : nearestInstant(firstShowing(toMicros(midnight), timeZone))
}

/** `flag`: what messages call the text. Throws Stop if it isn't a moment. */
export function parseMoment(
  flag: string,
  text: string,
  {
    now,
    timeZone,
  }: {
    /** Canonical. */
    readonly now: string
    /** The zone of `schedule.timeZone`: a date begins at its midnight. */
    readonly timeZone: string
  },
): string {
  const plain = text.trim()
  const time = canonical(plain)
  if (time !== null) return time
  const start = /^\d{4}-\d{2}-\d{2}$/.test(plain) ? startOf(plain, timeZone) : undefined
  if (start !== undefined) return start
  const length = lengthOf(plain)
  if (length !== undefined && Number.isFinite(length)) return ago(length, now)
  const local = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?$/.exec(plain)?.[0]
  throw new Stop(
    `Found ${flag} "${text}", expected a date and time with a time zone, a date, or a length of time back`,
    {
      exitCode: 2,
      hint: local
        ? `Type ${flag} ${local.replace(' ', 'T')}Z if you mean UTC, or give the offset, such as +02:00`
        : `Such as ${flag} 2026-01-31T00:00:00Z, ${flag} 2026-01-31 or ${flag} 7d`,
    },
  )
}

/**
 * Time on a Postgres session: a run works in UTC (connection.ts sets it) or not at all, and a timestamp is read correctly
 * with any offset. Used by postgres/dialect.ts.
 */
import { Stop } from '../../base/errors.js'
import { canonical, fromMicros, toMicros } from '../../base/timestamp.js'

/** Queries the time zone, after the settings of a transaction. */
export const askZone = 'show timezone'

const hint =
  'Connect directly to the server, or let the pooler keep settings for a transaction (PgBouncer: pool_mode = transaction)'

/** Throws if the answer to `askZone` isn't UTC: rows would be written under a setting that nobody asked for. */
export function checkZone(answer: { readonly rows: readonly unknown[] } | undefined, where: string): void {
  const zone = Object.values((answer?.rows[0] ?? {}) as Record<string, unknown>)[0]
  if (zone === 'UTC') return
  throw new Stop(
    `The warehouse ${where} uses the time zone ${JSON.stringify(zone)}, expected UTC, which every transaction sets`,
    { exitCode: 3, hint },
  )
}

const printed = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/

/**
 * Converts `2026-01-02 03:04:05.123456+00`, as Postgres prints it, to canonical form; a Date would lose microseconds.
 * Offsets other than +00 come from sessions whose settings a pooler has dropped; zones before 1900 include seconds.
 */
export function timestampOf(text: string): string {
  if (text.endsWith('+00')) {
    const fraction = text.slice(20, text.length - 3)
    // Joined, as in `print` of base/timestamp.ts: a run keeps eight of them for each list.
    const direct = [text.slice(0, 10), 'T', text.slice(11, 19), '.', fraction.padEnd(6, '0'), 'Z'].join('')
    if (direct.length === 27) return direct
  }
  const [, day, time, fraction = '', sign, hours = 0, minutes = 0, seconds = 0] = printed.exec(text) ?? []
  const local = canonical(`${day}T${time}.${fraction.padEnd(6, '0')}Z`)
  if (local === null)
    throw new Stop(
      `The warehouse prints a timestamp of ${text.length} characters that is not ISO, expected for example 2026-01-02 03:04:05+00`,
      { exitCode: 3, hint: `A pooler drops the setting DateStyle=ISO. ${hint}` },
    )
  const offset = BigInt(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1_000_000n
  return fromMicros(sign === '-' ? toMicros(local) + offset : toMicros(local) - offset)
}

import { Stop } from '../engine/base/errors.js'
import { fromMicros } from '../engine/base/timestamp.js'
import { parseMoment } from '../engine/config/moment.js'
import { scheduleSettings } from '../engine/config/schedulesection.js'
import type { TimeRange } from '../engine/run/runreport.js'
import { now } from '../engine/run/tenant.js'
import type { CommandContext } from './command.js'
import { listOf } from './flags.js'

const usage = (message: string, hint: string): Stop => new Stop(message, { exitCode: 2, hint })

/** What messages call the two ends: flags on the command line, members in a job. */
interface Names {
  readonly from: string
  readonly to: string
}

const flags: Names = { from: '--from', to: '--to' }

interface Reading {
  readonly names?: Names
  readonly timeZone?: string
  /** Called with a line about a range that isn't read as it was typed. */
  readonly tell?: (line: string) => void
}

/**
 * The half-open range [from, to) between two times as a person typed them. An end in the future counts as now: the
 * range of today ends tomorrow. `now`: canonical.
 */
export function parseRange(
  fromText: string,
  toText: string,
  now: string,
  { names = flags, timeZone = 'UTC', tell = () => {} }: Reading = {},
): TimeRange {
  const around = { now, timeZone }
  const [from, to] = [parseMoment(names.from, fromText, around), parseMoment(names.to, toText, around)]
  if (from > now)
    throw usage(
      `Found ${names.from} ${from}, which lies in the future; it is ${now} now`,
      'Expected a time in the past',
    )
  if (to > now && from < now) {
    tell(`${names.to} ${to} lies in the future; the range ends now, at ${now}`)
    return { from, to: now }
  }
  if (from < to) return { from, to }
  throw usage(
    from === to
      ? `Found ${names.from} and ${names.to} ${from}: the range is empty, because it excludes ${names.to}`
      : `Found ${names.from} ${from} after ${names.to} ${to}`,
    from === to ? `Give ${names.to} a later time` : 'Swap the two',
  )
}

/** How often a flag was typed. */
const times = (flag: string, typed: readonly string[]): string =>
  typed.length === 0 ? `no ${flag}` : typed.length === 1 ? `one ${flag}` : `${flag} ${typed.length} times`

/** Several ranges: the nth --from belongs to the nth --to. */
function parseRanges(
  froms: readonly string[],
  tos: readonly string[],
  now: string,
  reading: Reading = {},
): TimeRange[] {
  if (froms.length === 0 || froms.length !== tos.length)
    throw usage(
      `Found ${times('--from', froms)} and ${times('--to', tos)}, expected one of each, or as many of both`,
      'Type for example --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z',
    )
  return froms.map((from, i) => parseRange(from, tos[i] ?? '', now, reading))
}

export const rangesByFlags = (context: CommandContext): TimeRange[] => {
  const { from, to } = context.invocation.options
  const { timeZone } = scheduleSettings(context.config)
  const tell = (line: string): void => context.invocation.out.note(line)
  return parseRanges(listOf(from), listOf(to), now(context), { timeZone, tell })
}

/** The instant of `--since`, in the time zone of the schedules; undefined without the flag. */
export function sinceFlag({ invocation, config, clock }: CommandContext): string | undefined {
  const { since } = invocation.options
  if (since === undefined) return undefined
  const now = fromMicros(clock.nowMicros())
  return parseMoment('--since', String(since), { now, timeZone: scheduleSettings(config).timeZone })
}

import { fromMicros } from '../engine/base/timestamp.js'
import { parseMoment } from '../engine/config/moment.js'
import { scheduleSettings } from '../engine/config/schedulesection.js'
import type { CommandContext } from './command.js'

/** The instant of `--since`, in the time zone of the schedules; undefined without the flag. */
export function sinceFlag({ invocation, config, clock }: CommandContext): string | undefined {
  const { since } = invocation.options
  if (since === undefined) return undefined
  const now = fromMicros(clock.nowMicros())
  return parseMoment('--since', String(since), { now, timeZone: scheduleSettings(config).timeZone })
}

/* Resources that missed their targets for an hour: what the alert `behind_target` reports. */
import { fromMicros } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { Reader } from '../../engine/warehouse/cursors.js'
import { hourOf } from './freshnessplan.js'
import { delaysSince } from './sql.js'

export interface BehindTarget {
  readonly resource: string
  readonly met: number
  readonly missed: number
  /** The target, in milliseconds. */
  readonly target: number
  readonly since: string
}

/** If a smaller share of the changes comes in time, a resource is behind. */
const leastShare = 0.5
const hourMicros = 3_600_000_000n

const isBehind = ({ met, missed }: { readonly met: number; readonly missed: number }): boolean =>
  met + missed > 0 && met / (met + missed) < leastShare

/**
 * The resources for which most changes came late in the last full hour, and still do with those that came since. What came
 * late only in the hour that has just begun, as after a first sync, hasn't lasted for an hour.
 */
export async function behindTargets(
  warehouse: Reader,
  { targetOf }: Pick<FreshnessSettings, 'targetOf'>,
  nowMicros: bigint,
): Promise<BehindTarget[]> {
  const now = fromMicros(nowMicros)
  const since = hourOf(fromMicros(nowMicros - hourMicros))
  const lately = new Map((await delaysSince(warehouse, hourOf(now))).map((row) => [row.resource, row]))
  return (await delaysSince(warehouse, since)).flatMap(({ resource, met, missed }) => {
    const target = targetOf(resource)
    const late = lately.get(resource) ?? { met: 0, missed: 0 }
    const lastHour = { met: met - late.met, missed: missed - late.missed }
    if (target === undefined || !isBehind(lastHour) || !isBehind({ met, missed })) return []
    return [{ resource, met, missed, target, since }]
  })
}

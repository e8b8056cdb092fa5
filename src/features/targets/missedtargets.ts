/* Resources that missed their targets for an hour: what the alert `behind_target` reports. */
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Reader } from '../../engine/warehouse/cursors.js'
import { hourOf } from './freshnessplan.js'
import type { FreshnessSettings } from './settings.js'
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

/** The resources for which most changes came late in the last full hour and since then. */
export async function behindTargets(
  warehouse: Reader,
  { targetOf }: Pick<FreshnessSettings, 'targetOf'>,
  nowMicros: bigint,
): Promise<BehindTarget[]> {
  const since = hourOf(fromMicros(nowMicros - hourMicros))
  return (await delaysSince(warehouse, since)).flatMap(({ resource, met, missed }) => {
    const target = targetOf(resource)
    const isBehind = met + missed > 0 && met / (met + missed) < leastShare
    return target !== undefined && isBehind ? [{ resource, met, missed, target, since }] : []
  })
}

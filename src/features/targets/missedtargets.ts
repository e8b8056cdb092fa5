/* Resources, and lists with targets of their own, that missed their targets for an hour: what the alert `behind_target` reports. */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { delaysSince } from './delays.js'
import { hourOf } from './freshnessplan.js'

export interface BehindTarget {
  readonly resource: string
  /** Only that tenant's list, which has a target of its own; null: the lists of all tenants without one. */
  readonly tenant_id: Int64 | null
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
  warehouse: Pick<Warehouse, 'has' | 'read'>,
  { targetOf, own }: Pick<FreshnessSettings, 'targetOf' | 'own'>,
  nowMicros: bigint,
): Promise<BehindTarget[]> {
  const now = fromMicros(nowMicros)
  const since = hourOf(fromMicros(nowMicros - hourMicros))
  const nameOf = (row: { readonly resource: string; readonly tenant_id?: Int64 | undefined }): string =>
    `${row.resource} ${row.tenant_id ?? ''}`
  const lately = new Map((await delaysSince(warehouse, hourOf(now))).map((row) => [nameOf(row), row]))
  return (await delaysSince(warehouse, since)).flatMap((row) => {
    const { resource, tenant_id = null, met, missed } = row
    const target = tenant_id === null ? targetOf(resource, null) : own?.targetOf(resource, tenant_id)
    const late = lately.get(nameOf(row)) ?? { met: 0, missed: 0 }
    const lastHour = { met: met - late.met, missed: missed - late.missed }
    if (target === undefined || !isBehind(lastHour) || !isBehind({ met, missed })) return []
    return [{ resource, tenant_id, met, missed, target, since }]
  })
}

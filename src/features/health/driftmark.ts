/*
 * How far drift was looked at. A run of all tenants looks at everything up to the last stamp; shards end one by one, and
 * each moves its own mark: what a sibling still stores would otherwise be older than the mark, and never be told.
 */
import type { Int64 } from '../../../schema/resource.js'
import { hasTenant, shardName } from '../../engine/base/shard.js'
import type { EndedRun } from './incidentchanges.js'
import type { AlertMark } from './sql.js'

const ofWhole = 'whole'

/** The marks after a run. `from`: from when on drift is news at all; `through`: the run's last stamp. */
export function driftMark(
  before: AlertMark | null,
  { shard, isWhole }: Pick<EndedRun, 'shard' | 'isWhole'>,
  { from, through }: { readonly from: string; readonly through: string },
): Pick<AlertMark, 'driftThrough' | 'shards'> {
  if (!shard && !isWhole) return { driftThrough: through }
  const name = shard ? shardName(shard) : ofWhole
  return { driftThrough: before?.driftThrough ?? from, shards: { ...before?.shards, [name]: through } }
}

/** Whether no run has looked at it. In tenants that no run has ever looked at, nothing is news. */
export function isUntold(
  { driftThrough, shards = {}, since }: AlertMark,
  { shard, isWhole }: Pick<EndedRun, 'shard' | 'isWhole'>,
  { tenant_id, first_seen_at }: { readonly tenant_id: Int64 | null; readonly first_seen_at: string | null },
): boolean {
  const marks = Object.entries(shards).flatMap(([name, mark]) => (covers(name, tenant_id) ? mark : []))
  if ((shard || isWhole) && marks.length === 0 && driftThrough === since) return false
  return marks.every((mark) => (first_seen_at ?? '') > mark)
}

function covers(name: string, tenantId: Int64 | null): boolean {
  if (tenantId === null || Number(tenantId) === 0) return name === ofWhole
  const [index = 0, of = 0] = name.split('/').map(Number)
  return name !== ofWhole && hasTenant({ index, of }, tenantId)
}

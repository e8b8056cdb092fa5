/*
 * Lists that failed, or weren't offered, so recently that another try can wait: it would cost requests, and likely fail
 * again.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Reason } from '../../engine/base/reasons.js'
import type { Shard } from '../../engine/base/shard.js'
import { toMillis } from '../../engine/base/timestamp.js'
import type { Reader } from '../../engine/warehouse/database.js'
import { rowName } from '../../engine/warehouse/state/cursors.js'
import { lastFailures } from '../../engine/warehouse/state/runcursors.js'

/** A failed list is tried again after a quarter of its target, but neither sooner nor later than this. */
const soonestAgainMs = 900_000
const latestAgainMs = 3_600_000

/** The list was read to its end, or wasn't requested at all: nothing says that the next poll would fail. */
const notFailing: ReadonlySet<string | null> = new Set<Reason>([
  'counted_not_shown',
  'unreadable',
  'before_all',
  'left_the_list',
  'record_unstorable',
  'answers_differ',
  'source_went_back',
  'told_to_wait',
])

/** How long lists wait, in milliseconds. */
export interface ListWaits {
  /** No list waits longer between two polls. */
  readonly atLeast: number
  targetOf(resource: string, tenantId: Int64): number
}

/**
 * Their names. A list that the source doesn't offer is requested as often as the quietest one: grants may spread slowly,
 * and lists may come later.
 */
export async function restingLists(
  warehouse: Reader,
  nowMs: number,
  { atLeast, targetOf, shard }: ListWaits & { readonly shard: Shard | undefined },
): Promise<ReadonlySet<string>> {
  const failed = await lastFailures(warehouse, shard)
  const rests = failed.filter(({ tenant_id, resource, status, at, reason }) => {
    if (notFailing.has(reason)) return false
    const since = at === null ? Number.POSITIVE_INFINITY : nowMs - toMillis(at)
    const again = Math.min(latestAgainMs, Math.max(soonestAgainMs, targetOf(resource, tenant_id) / 4))
    return since >= 0 && since < (status === 'unavailable' ? atLeast : again)
  })
  return new Set(rests.map(rowName))
}

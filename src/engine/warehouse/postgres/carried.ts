/** What a delivery carries through pg-boss. Used by deliveryqueue.ts; queueview.ts reads its members in SQL. */
import type { JobInsert, JobWithMetadata } from 'pg-boss'
import type { Shard } from '../../base/shard.js'
import type { Round } from '../deliveries.js'

/** What a delivery carries. */
export interface Carried {
  readonly job: string
  readonly planned_at: string
  readonly shards: number
  readonly part: string
  readonly worker?: string
  readonly deaths?: number
}

/** What pg-boss records of a job whose worker is silent. */
const silence = 'job heartbeat timeout'

export const carried = (round: Round, part: string): Carried => ({
  job: round.job,
  planned_at: round.plannedAt,
  shards: round.shards,
  part,
})

export const jobOf = (data: Carried): JobInsert<Carried> => ({
  data,
  singletonKey: `${data.job}/${data.part}`,
})

export const roundCarried = ({ job, planned_at, shards }: Carried): Round => ({
  job,
  plannedAt: planned_at,
  shards,
})

export function shardOf({ part }: Carried): Shard | undefined {
  const [index, of] = part.split('/').map(Number)
  return index === undefined || of === undefined ? undefined : { index, of }
}

/** Whether the worker that had it fell silent. */
export function wasSilent({ output }: JobWithMetadata<Carried>): boolean {
  const { value } = (output ?? {}) as { value?: { message?: unknown } }
  return value?.message === silence
}

import type { Int64 } from '../../../schema/resource.js'

/** One of several parts of the tenants: each tenant belongs to exactly one of them (docs/scale.md, Shards). */
export interface Shard {
  /** From 0. */
  readonly index: number
  /** How many there are: 1 to 64. */
  readonly of: number
}

/** A prime number above the most shards: ids that follow each other are spread evenly over any number of shards. */
const slots = 1009n

/** As it is typed, stored and shown: `3/8`. */
export const shardName = ({ index, of }: Shard): string => `${index}/${of}`

/** The shard that a tenant belongs to, of so many. SQL has the same: warehouse/state/shardsql.ts. */
export function shardIndex(tenantId: Int64, of: number): number {
  const id = BigInt(tenantId)
  return Number((((id % slots) + slots) % slots) % BigInt(of))
}

/** Whether a tenant belongs to a shard. Without shards, a run has all tenants. */
export const hasTenant = (shard: Shard | undefined, tenantId: Int64): boolean =>
  shard === undefined || shardIndex(tenantId, shard.of) === shard.index

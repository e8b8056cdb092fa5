import { type Expression, type SqlBool, sql } from 'kysely'
import type { Shard } from '../../base/shard.js'

/**
 * That a tenant belongs to a shard, as `shardIndex` says; without a shard, any does. Both databases truncate a remainder
 * towards zero.
 */
export const isOfShard = (tenantId: Expression<unknown>, shard: Shard | undefined): Expression<SqlBool> =>
  shard === undefined
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`(((${tenantId} % 1009) + 1009) % 1009) % ${sql.lit(shard.of)} = ${sql.lit(shard.index)}`

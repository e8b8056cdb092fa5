import { type Expression, type SqlBool, sql } from 'kysely'
import type { Shard } from '../../base/shard.js'

/** That a tenant belongs to a shard: the same as `shardIndex` says. Both databases truncate a remainder towards zero. */
export const isOfShard = (tenantId: Expression<unknown>, { index, of }: Shard): Expression<SqlBool> =>
  sql<SqlBool>`(((${tenantId} % 1009) + 1009) % 1009) % ${sql.lit(of)} = ${sql.lit(index)}`

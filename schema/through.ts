/**
 * Below which stamp nothing will be committed any more: the one rule, for the views and for the program. Holders of the lease
 * give only stamps after their own `stamps_from`, and each claim begins after everything on record, so the lowest of those who
 * may still commit is the answer, and it never falls. An expired holder may be asleep and wake: it counts until another claim
 * has fenced it off. While nobody holds the lease, every stamp is settled.
 */
const held = (whose: string): string =>
  `select min(h.stamps_from) from {sync_lease} h where h.owner is not null${whose}`

/**
 * Of one tenant, only a holder of the whole warehouse and the holder of its shard count: the names of lease rows are `run` and
 * `I/N`. The remainder is that of src/engine/base/shard.ts.
 */
function ofTenant(tenantId: string): string {
  const shards = `cast(substr(h.name, case when substr(h.name, 2, 1) = '/' then 3 else 4 end) as bigint)`
  const index = `(((${tenantId} % 1009) + 1009) % 1009) % ${shards}`
  return ` and case when h.name = 'run' then 1
      when h.name = cast(${index} as text) || '/' || cast(${shards} as text) then 1 else 0 end = 1`
}

/**
 * Rows of the lease outlive runs, whose history is pruned; in the warehouse of an older program, only runs have stamps. How
 * far a holder at work may still go doesn't count: the next claim of other tenants needn't begin after it.
 */
const given = (): string => `select max(s.at) from (
    select l.stamps_from as at from {sync_lease} l
    union all select u.stamps_until as at from {sync_lease} u where u.owner is null
    union all select r.stamped_until as at from {sync_runs} r) s`

/**
 * An expression; tables are in braces. Of an empty warehouse it is the beginning of 1970. `tenantId`: the column of the tenant
 * whose rows are meant; by default those of all.
 */
export const through = (tenantId?: string): string =>
  `coalesce((${held(tenantId === undefined ? '' : ofTenant(tenantId))}), (${given()}), '1970-01-01T00:00:00.000000Z')`

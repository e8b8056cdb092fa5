/**
 * Below which stamp nothing will be committed any more: the one rule, for the views and for the program. Holders of the lease
 * give only stamps after their own `stamps_from`, and each claim begins after everything on record, so the lowest of those who
 * may still commit is the answer, and it never falls. An expired holder may be asleep and wake: it counts until another claim
 * has fenced it off. While nobody holds the lease, every stamp is settled.
 */
const held = (): string => 'select min(h.stamps_from) from {sync_lease} h where h.owner is not null'

/** Rows of the lease outlive runs, whose history is pruned; in the warehouse of an older program, only runs have stamps. */
const given = (): string => `select max(s.at) from (
    select l.stamps_from as at from {sync_lease} l
    union all select u.stamps_until as at from {sync_lease} u
    union all select r.stamped_until as at from {sync_runs} r) s`

/** An expression; tables are in braces. Of an empty warehouse it is the beginning of 1970. */
export const through = (): string => `coalesce((${held()}), (${given()}), '1970-01-01T00:00:00.000000Z')`

/* Rounds: the runs of one job for one planned instant, one for each shard and one for what they leave out. */
import { type Shard, shardName } from '../base/shard.js'
import type { Reader } from './cursors.js'
import { bySeq } from './runs.js'

/**
 * Whether the slot's run for that instant began between then and now, or was planned for it, and ended, however it ended.
 * A shard whose work a limit or an error cut short goes on in the same round.
 */
export async function hasRunSince(
  warehouse: Reader,
  { job, mode, shard }: { readonly job: string; readonly mode: string; readonly shard: Shard | undefined },
  { since, now }: { readonly since: string; readonly now: string },
): Promise<boolean> {
  const found = await warehouse.read((db) => {
    const ended = db
      .selectFrom('sync_runs')
      .select('run_id')
      .where('job', '=', job)
      .where('mode', '=', mode)
      .where((eb) =>
        eb.or([
          // A run that began later than now was recorded under a wrong clock.
          eb.and([eb('started_at', '>=', since), eb('started_at', '<=', now)]),
          eb('planned_at', '=', since),
        ]),
      )
      .where('status', 'not in', ['running', 'interrupted'])
    const its = shard
      ? ended
          .where('shard', '=', shardName(shard))
          .where('error', 'is', null)
          .where((eb) => eb(eb.fn.coalesce('reason', eb.val('')), 'not in', ['time_limit', 'wanted']))
      : ended.where('shard', 'is', null)
    return its.limit(1).execute()
  })
  return found.length > 0
}

/**
 * The last runs of a job's shards: of those planned for an instant or begun since then, as in `hasRunSince`; or of those
 * that began since some moment. N is that of the newest of them. Null in place of what is known of a run: none has begun.
 * Empty if none of any shard has.
 */
export async function shardsOfRound(
  warehouse: Reader,
  job: string,
  { plannedAt, since }: { readonly plannedAt?: string | undefined; readonly since: string },
) {
  const rows = await warehouse.read((db) => {
    const runs = db
      .selectFrom('sync_runs')
      .select(['run_id', 'status', 'started_at', 'shard'])
      .where('job', '=', job)
      .where('shard', 'is not', null)
    const its =
      plannedAt === undefined
        ? runs.where('started_at', '>=', since)
        : runs.where((eb) => eb.or([eb('planned_at', '=', plannedAt), eb('started_at', '>=', plannedAt)]))
    return its.orderBy(bySeq, 'desc').execute()
  })
  const of = Number(rows[0]?.shard?.split('/')[1] ?? 0)
  return Array.from({ length: of }, (_, index) => {
    const shard = { index, of }
    const last = rows.find((row) => row.shard === shardName(shard))
    return {
      shard,
      ...{ run_id: last?.run_id ?? null, status: last?.status ?? null, started_at: last?.started_at ?? null },
    }
  })
}

/*
 * Rounds: the runs of one job for one planned instant, one for each shard and one for what they leave out. A run that was
 * planned is of the round of its instant, whenever it began by the clock of its own machine, which may be wrong.
 */
import type { ExpressionBuilder } from 'kysely'
import { type Shard, shardName } from '../../base/shard.js'
import type { Database } from '../database.js'
import type { Reader } from './cursors.js'
import { bySeq } from './runs.js'

/** Runs of the round of that instant. Of those that nobody planned, such as by hand: those that began since then. */
const isOf =
  (plannedAt: string) =>
  ({ and, eb, or }: ExpressionBuilder<Database, 'sync_runs'>) =>
    or([
      eb('planned_at', '=', plannedAt),
      and([eb('planned_at', 'is', null), eb('started_at', '>=', plannedAt)]),
    ])

/**
 * Whether the slot's run of that instant's round has ended, however it ended. A shard whose work a limit or an error
 * cut short goes on in the same round.
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
      .where(isOf(since))
      // One by hand that began later than now was recorded under a wrong clock.
      .where((eb) => eb.or([eb('planned_at', 'is not', null), eb('started_at', '<=', now)]))
      .where('status', 'not in', ['running', 'interrupted'])
    const its = shard
      ? ended
          .where('shard', '=', shardName(shard))
          .where('error', 'is', null)
          .where((eb) => eb(eb.fn.coalesce('reason', eb.val('')), 'not in', ['time_limit', 'wanted', 'bug']))
      : ended.where('shard', 'is', null)
    return its.limit(1).execute()
  })
  return found.length > 0
}

/**
 * The last runs of a job's shards: of an instant's round, or of those that began since some moment. N is that of the
 * newest of them. Null in place of what is known of a run: none has begun. Empty if none of any shard has.
 */
export async function shardsOfRound(
  warehouse: Reader,
  job: string,
  { plannedAt, since }: { readonly plannedAt?: string | undefined; readonly since: string },
) {
  const rows = await warehouse.read((db) => {
    const runs = db
      .selectFrom('sync_runs')
      .select(['run_id', 'status', 'reason', 'started_at', 'shard'])
      .where('job', '=', job)
      .where('shard', 'is not', null)
    const its = plannedAt === undefined ? runs.where('started_at', '>=', since) : runs.where(isOf(plannedAt))
    return its.orderBy(bySeq, 'desc').execute()
  })
  const of = Number(rows[0]?.shard?.split('/')[1] ?? 0)
  return Array.from({ length: of }, (_, index) => {
    const shard = { index, of }
    const last = rows.find((row) => row.shard === shardName(shard))
    return {
      shard,
      run_id: last?.run_id ?? null,
      status: last?.status ?? null,
      reason: last?.reason ?? null,
      started_at: last?.started_at ?? null,
    }
  })
}

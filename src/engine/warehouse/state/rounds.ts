/*
 * Rounds: the runs of one job for one planned instant, one for each shard and one for what they leave out. A run that was
 * planned is of the round of its instant, whenever it began by the clock of its own machine, which may be wrong.
 */
import type { ExpressionBuilder } from 'kysely'
import { type Shard, shardName } from '../../base/shard.js'
import type { Database, Reader } from '../database.js'
import { isAnyRun, listRuns } from './runs.js'

type Conditions = ExpressionBuilder<Database, 'sync_runs'>

/** Runs of the round of that instant. Of those that nobody planned, such as by hand: those that began since then. */
const isOf =
  (plannedAt: string) =>
  ({ and, eb, or }: Conditions) =>
    or([
      eb('planned_at', '=', plannedAt),
      and([eb('planned_at', 'is', null), eb('started_at', '>=', plannedAt)]),
    ])

/**
 * Whether the slot's run of that instant's round has ended, however it ended. A shard whose work a limit or an error
 * cut short goes on in the same round.
 */
export const hasRunSince = (
  warehouse: Reader,
  { job, mode, shard }: { readonly job: string; readonly mode: string; readonly shard: Shard | undefined },
  { since, now }: { readonly since: string; readonly now: string },
): Promise<boolean> =>
  isAnyRun(warehouse, {
    job,
    mode,
    shard: shard ? shardName(shard) : null,
    where: (eb) =>
      eb.and([
        isOf(since)(eb),
        // One by hand that began later than now was recorded under a wrong clock.
        eb.or([eb('planned_at', 'is not', null), eb('started_at', '<=', now)]),
        eb('status', 'not in', ['running', 'interrupted']),
        ...(shard ? [eb('error', 'is', null), isThrough(eb)] : []),
      ]),
  })

/** Whether nothing cut the work of a shard short. */
const isThrough = ({ eb, fn, val }: Conditions) =>
  eb(fn.coalesce('reason', val('')), 'not in', ['time_limit', 'wanted', 'bug'])

/**
 * The last runs of a job's shards: of an instant's round, or of those that began since some moment. N is that of the
 * newest of them. Null in place of what is known of a run: none has begun. Empty if none of any shard has.
 */
export async function shardsOfRound(
  warehouse: Reader,
  job: string,
  { plannedAt, since }: { readonly plannedAt?: string | undefined; readonly since: string },
) {
  const rows = await listRuns(warehouse, {
    job,
    where: (eb) =>
      eb.and([
        eb('shard', 'is not', null),
        plannedAt === undefined ? eb('started_at', '>=', since) : isOf(plannedAt)(eb),
      ]),
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

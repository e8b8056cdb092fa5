/* A job on several machines: what each shard leaves out, and what the run after them makes of how they ended. */
import { bugExitCode } from '../../engine/base/errors.js'
import { atMinute } from '../../engine/base/format.js'
import { type Shard, shardName } from '../../engine/base/shard.js'
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { Instants } from '../../engine/config/instants.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import type { JobPlan } from '../../engine/run/steps.js'
import type { Reader } from '../../engine/warehouse/database.js'
import { shardsOfRound } from '../../engine/warehouse/state/rounds.js'
import type { CommandContext, JobStep, StepKind } from '../../shell/command.js'
import type { Job } from './jobfile.js'

const dayMs = 86_400_000

/** How the shards have ended, as the run after them finds it. */
export interface ShardsEnded {
  /** Shards that have not ended, in words; empty if all have. */
  readonly problems: readonly string[]
  /** The worst exit code of those that have. */
  readonly exitCode: number
}

function twoIntervalsBefore(nowMs: number, schedule: string | undefined, timeZone: string): string {
  const [first, second] = schedule === undefined ? [] : new Instants(schedule, timeZone).list(nowMs, 2)
  const interval = first === undefined || second === undefined ? dayMs : second - first
  return fromMicros(BigInt(Math.floor(nowMs - 2 * interval)) * 1000n)
}

/** The job's shards of this round, or of the last two intervals of its schedule; without one, of the last two days. */
export async function shardsEnded(
  { config, clock }: Pick<CommandContext, 'config' | 'clock'>,
  warehouse: Reader,
  { name, schedule, plannedAt }: Job & Pick<JobPlan, 'plannedAt'>,
): Promise<ShardsEnded> {
  const now = fromMicros(clock.nowMicros())
  const { timeZone } = scheduleSettings(config)
  const since = twoIntervalsBefore(toMillis(now), schedule, timeZone)
  const shards = await shardsOfRound(warehouse, name, { plannedAt, since })
  const when = plannedAt === undefined ? `since ${atMinute(since)}` : `for ${atMinute(plannedAt)}`
  if (shards.length === 0)
    return {
      problems: [
        `${name}: no shard has run ${when}. Type shopsync run ${name} --shard 0/8, or without --shard`,
      ],
      exitCode: 0,
    }
  const open = shards.filter(
    ({ status, reason }) =>
      status === null || status === 'running' || status === 'interrupted' || reason === 'bug',
  )
  const problems = open.map(({ shard, status, reason, started_at }) => {
    const how = reason === 'bug' ? 'ended by an error of shopsync' : 'has not ended'
    const what =
      status === null ? `has not run ${when}` : `began at ${atMinute(started_at ?? since)} and ${how}`
    return `${name}: shard ${shardName(shard)} ${what}. Type shopsync run ${name} --shard ${shardName(shard)}`
  })
  const isBad = shards.some(({ status }) => status === 'partial' || status === 'failed')
  const isBroken = shards.some(({ reason }) => reason === 'bug')
  return { problems, exitCode: isBroken ? bugExitCode : isBad ? 1 : 0 }
}

/** Whether a step is for the run after all shards, in a shard, or for the shards, in that run. */
export const isLeftOut = (
  { isWhole: isOfWhole }: StepKind,
  { shard, isWhole }: { readonly shard: Shard | undefined; readonly isWhole: boolean },
): boolean => (shard ? isOfWhole === true : isWhole && !isOfWhole)

/** Which steps a shard, or the run after all shards, leaves to the other. */
export function stepsLeftText(
  name: string,
  left: readonly { readonly step: number; readonly command: JobStep['command'] }[],
  isWhole: boolean,
): string {
  const steps = left.map(({ step, command }) => `step ${step} (${command})`).join(', ')
  return isWhole
    ? `${name}: left to the shards: ${steps}`
    : `${name}: left out, because it concerns the whole warehouse: ${steps}. After all shards, type shopsync run ${name} --whole`
}

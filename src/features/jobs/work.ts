/*
 * One run of a job, from its checked file to its exit code. Called by `shopsync run`, and by `shopsync schedule` for
 * each due job.
 */

import { Bug, Stop } from '../../engine/base/errors.js'
import { span } from '../../engine/base/format.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { isTwoIntervalsAgo } from '../../engine/config/cron.js'
import { Instants } from '../../engine/config/instants.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { type JobPlan, type JobWork, runJob } from '../../engine/run/steps.js'
import { checkTables, isNew } from '../../engine/warehouse/layout/migrate.js'
import { machineName } from '../../engine/warehouse/lease/holder.js'
import { lockHolder } from '../../engine/warehouse/lease/lease.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext, JobStep, StepKind, TellStep } from '../../shell/command.js'
import { exitCodeOfRun, timeLimitOf, withFollowing } from '../../shell/execute.js'
import { stepsOf } from '../../shell/features.js'
import { runTroubles } from '../../shell/runsummary.js'
import type { Job } from './jobfile.js'
import { isLeftOut, type ShardsEnded, shardsEnded, stepsLeftText } from './shards.js'

/**
 * Runs a job, prints the outcome, and reports what needs attention. `plannedAt`: the instant for which a scheduler
 * starts it.
 */
export function carryOutJob(
  context: CommandContext,
  job: Job & Pick<JobPlan, 'plannedAt'>,
  /** Called with the report of all steps, if the run came to one. */
  ended?: (report: RunReport) => void,
): Promise<number> {
  const { shard, invocation } = context
  const isWhole = invocation.options.whole === true
  let shards: ShardsEnded | undefined
  const beats = (exitCode: number): number | null =>
    shards && shards.problems.length > 0 && shards.exitCode <= 1
      ? null
      : Math.max(exitCode, shards?.exitCode ?? 0)
  const { heartbeat, then: following } = job
  const name = { job: job.name, onRecord: true, heartbeat, following, shard, isWhole, beats }
  return withFollowing(context, name, async (note) => {
    const report = await carryOutSteps(context, job, note)
    ended?.(report)
    const exitCode = exitCodeOfRun(report)
    if (!isWhole) return exitCode
    shards = await shardsEnded(context, await context.open('create'), job)
    for (const problem of shards.problems) invocation.out.trouble(problem)
    return shards.problems.length > 0 ? 1 : exitCode
  })
}

async function carryOutSteps(
  context: CommandContext,
  job: Job & Pick<JobPlan, 'plannedAt'>,
  note: (report: RunReport) => void,
): Promise<RunReport> {
  const { shard } = context
  const isWhole = context.invocation.options.whole === true
  const { out, signals } = context.invocation
  const tell: TellStep = (report, text) => {
    // call.ts prints where an interrupted run resumes.
    if (signals.signal.aborted) return
    note(report)
    out.print(text)
    out.complain(runTroubles(report))
  }
  const kinds = await stepsOf(context.invocation.features)
  const kindOf = ({ command }: JobStep): StepKind => {
    const kind = kinds.find((one) => one.command === command)
    if (!kind) throw new Bug(`No step ${command}`)
    return kind
  }
  const steps: (JobWork | undefined)[] = []
  const isLeft = (step: JobStep): boolean => isLeftOut(kindOf(step), { shard, isWhole })
  const next = nextInstants(context, job)
  for (const [i, step] of job.steps.entries()) {
    const place = { job: job.name, next, earlier: job.steps.slice(0, i), later: job.steps.slice(i + 1) }
    steps.push(isLeft(step) ? undefined : await kindOf(step).prepare(context, { ...step, ...place }, tell))
  }
  const left = job.steps.flatMap((step, i) => (isLeft(step) ? [{ step: i + 1, command: step.command }] : []))
  if (left.length > 0) out.print(`${stepsLeftText(job.name, left, isWhole)}\n`)
  const onlyCompares = job.steps.every((step) => kindOf(step).onlyCompares)
  const timeLimit = timeLimitOf(context.invocation.options) ?? job.timeLimit
  const deps = await context.dependencies(await warehouseOf(context, onlyCompares))
  const waiting = (who: string, milliseconds: number): void =>
    context.log.info({ job: job.name }, `Waiting up to ${span(milliseconds)}. ${who}`)
  const observer = { ...deps.observer, waiting }
  const plan: JobPlan = { ...job, steps, timeLimit, isWhole }
  const report = await runJob({ ...deps, observer }, plan).catch(async (error: unknown) => {
    if (isLocked(error)) out.complain(await lockTroubles(context, job))
    throw error
  })
  if (out.json && !signals.signal.aborted) await out.document(report)
  return report
}

/** The next two planned instants of a job after a moment. */
function nextInstants({ config }: CommandContext, { schedule }: Job): (after: number) => number[] {
  if (schedule === undefined) return () => []
  const instants = new Instants(schedule, scheduleSettings(config).timeZone)
  return (after) => instants.list(after, 2)
}

/** Like `verify`, a job that only compares makes no warehouse. */
async function warehouseOf(context: CommandContext, onlyCompares: boolean): Promise<Writer> {
  if (onlyCompares) {
    const there = await context.open('read')
    if (await isNew(there)) await checkTables(there)
  }
  return context.open('create')
}

const isLocked = (error: unknown): boolean => error instanceof Stop && error.exitCode === 4

/** A job waiting for its turn needs no attention; one whose turn never comes does. */
async function lockTroubles(context: CommandContext, { name, schedule }: Job): Promise<string[]> {
  if (schedule === undefined) return []
  const holder = await lockHolder(await context.open('read'))
  if (!holder?.claimed_at) return []
  const since = Number(toMicros(holder.claimed_at) / 1000n)
  const zone = scheduleSettings(context.config).timeZone
  if (!isTwoIntervalsAgo(schedule, zone, since, Number(context.clock.nowMicros() / 1000n))) return []
  return [
    `${name}: another run (${holder.command ?? 'unknown'}) has held the lock since ${holder.claimed_at}, for more than two intervals of this job, on ${machineName(holder.host)}, pid ${holder.pid}`,
  ]
}

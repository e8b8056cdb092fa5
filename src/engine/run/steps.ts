/*
 * A job: several steps as one run, under one lease, with one row in sync_runs. A step can do anything: a run's work on
 * cursors, a comparison, a snapshot, a report. Features make the steps (their step.ts).
 */
import { isExpected, Stop } from '../base/errors.js'
import { shardName } from '../base/shard.js'
import { LeaseHeld } from '../warehouse/lease/holder.js'
import { wantLease } from '../warehouse/lease/lease.js'
import { openLease, type WriterLease } from '../warehouse/lease/openlease.js'
import { quarantinedSince } from '../warehouse/state/quarantine.js'
import { hasRunSince } from '../warehouse/state/rounds.js'
import { checkSourceIdentity } from '../warehouse/state/sourceidentity.js'
import { migrateWhole } from './catchup.js'
import { type Ending, endingOf, type TimeLimit, timeLimit } from './ending.js'
import type { Dependencies } from './runcontext.js'
import { rowsIn } from './runend.js'
import { type RecordedRun, runOnRecord } from './runonrecord.js'
import type { RunReport } from './runreport.js'
import { now } from './tenant.js'

/** What a step is given: the run, with a source that counts only the requests of this step. */
export interface StepGiven extends RecordedRun {
  /** The step's number in the job, from 1. */
  readonly step: number
}

/** A step of a job whose settings have been checked. */
export interface JobWork {
  /** false: it sends no requests to the source, and takes seconds. */
  readonly asksSource: boolean
  /** If time runs out for it, the job's next run does it, so it isn't missed. */
  readonly isDue?: boolean
  carryOut(given: StepGiven): Promise<RunReport>
}

export interface JobPlan {
  readonly name: string
  /** undefined in place of steps that this run leaves out: those of the whole warehouse, or all others. */
  readonly steps: readonly (JobWork | undefined)[]
  /** It does what its shards leave out. */
  readonly isWhole?: boolean
  /** Milliseconds that the steps may take together, from when the warehouse is claimed. undefined: no limit. */
  readonly timeLimit: number | undefined
  /** Milliseconds that the job waits for another run to end. */
  readonly wait: number
  /** The instant for which a scheduler starts it. undefined: it runs in any case. */
  readonly plannedAt?: string | undefined
  /** What happens after a step that didn't do all of its work. */
  readonly onFailure: 'continue' | 'stop'
}

/**
 * Runs a job. Throws whatever ended the job as a whole; the exit code is 4 if another run holds the warehouse too long.
 */
export async function runJob(deps: Dependencies, plan: JobPlan): Promise<RunReport> {
  await using lease = await waitForLease(deps, plan)
  await checkStillDue(deps, plan)
  if (plan.steps.some((work) => work?.asksSource))
    await checkSourceIdentity(deps.warehouse, deps.source.address)
  const planned = { ...deps, plannedAt: plan.plannedAt }
  const purpose = { job: plan.name, mode: modeOf(plan) }
  const report = await runOnRecord(planned, lease, purpose, async (run) => {
    if (plan.isWhole) await besideShards(run)
    using limited = timeLimit(plan.timeLimit, { clock: run.clock, signal: run.asked })
    const cut = await new Steps(run, plan, limited).carryOut()
    return reportOfJob(run, plan, cut)
  })
  lease.throwIfLost()
  return report
}

const modeOf = ({ isWhole }: JobPlan): 'whole' | 'job' => (isWhole ? 'whole' : 'job')

/** Days, names and views are of all tenants: its shards have left them as they were. */
async function besideShards(run: RecordedRun): Promise<void> {
  await run.besideRows?.(run)
  await run.afterRecompute?.()
}

/**
 * Milliseconds between two checks of the lease, which cost a few statements each. Nobody plans a shard's run by the clock:
 * when its holder's lease runs out, it should go on.
 */
const betweenLooks = ({ shard }: Dependencies): number => (shard ? 1000 : 5000)

/** Tries until the warehouse is free, or the job has waited long enough. */
async function waitForLease(deps: Dependencies, { name, wait }: JobPlan): Promise<WriterLease> {
  const { clock, signal, observer } = deps
  const until = clock.nowMicros() + BigInt(Math.round(wait)) * 1000n
  for (let isFirst = true; ; isFirst = false) {
    try {
      await migrateWhole(deps, name)
      return await openLease({ ...deps, patience: 0 }, name)
    } catch (error) {
      const left = Number(until - clock.nowMicros()) / 1000
      if (!(error instanceof Stop && error.exitCode === 4) || left <= 0) throw error
      if (isFirst) observer.waiting?.(error.message, left)
      // Shards end for a job that waits for all of them.
      if (error instanceof LeaseHeld && error.by === 'shards') await wantLease(deps.warehouse)
      await clock.sleep(Math.min(left, betweenLooks(deps)), signal)
      if (signal.aborted) throw error
    }
  }
}

/** The job was run for its planned instant, by hand or by another program: there is nothing left to do. */
export class AlreadyRan extends Stop {}

/**
 * Two schedulers of one warehouse wait for each other's lock. Without this check, the second one would do all the work
 * again.
 */
async function checkStillDue(deps: Dependencies, plan: JobPlan): Promise<void> {
  const { name, plannedAt } = plan
  if (plannedAt === undefined) return
  const slot = { job: name, mode: modeOf(plan), shard: deps.shard }
  if (!(await hasRunSince(deps.warehouse, slot, { since: plannedAt, now: now(deps) }))) return
  throw new AlreadyRan(`Another program already ran ${name}, which was due at ${plannedAt}`, {
    exitCode: 4,
    hint: 'Run only one shopsync schedule per warehouse',
  })
}

class Steps {
  /** What ended a step as a whole. */
  #failure: unknown
  /** It was a step that queries the source: every other such step would hit the same problem. */
  #isSourceAway = false

  constructor(
    private readonly run: RecordedRun,
    private readonly plan: JobPlan,
    private readonly limited: TimeLimit,
  ) {}

  /** Runs the steps in order. Returns what cut them short, or throws it. */
  async carryOut(): Promise<Ending | null> {
    const left: number[] = []
    for (const [i, work] of this.plan.steps.entries()) {
      if (!work) continue
      if (this.#isOver(work)) {
        if (!work.isDue || this.run.asked.aborted) left.push(i + 1)
      } else await this.#one(work, i + 1)
    }
    if (this.#failure !== undefined) throw this.#failure
    return left.length > 0 || this.run.asked.aborted ? endingOf(this.limited.signal) : null
  }

  /**
   * Whether a step is left out. A step that doesn't query the source runs even when time is up or the source is away: a
   * day without a snapshot can never be charted, and the step takes seconds.
   */
  #isOver({ asksSource }: JobWork): boolean {
    if (this.run.asked.aborted || this.#isStopped) return true
    return asksSource && (this.#isSourceAway || this.limited.signal.aborted)
  }

  get #isStopped(): boolean {
    const isBad = this.#failure !== undefined || this.run.done.some(({ status }) => status !== 'ok')
    return this.plan.onFailure === 'stop' && isBad
  }

  async #one(work: JobWork, step: number): Promise<void> {
    const { run, limited } = this
    const {
      signal: asked,
      timeLimited,
      endsAt,
    } = work.asksSource ? limited : { signal: run.asked, timeLimited: false, endsAt: undefined }
    const signal = AbortSignal.any([run.signal, asked])
    const { ended } = this.run.stats
    const before = ended.length
    try {
      const report = await work.carryOut({
        ...run,
        asked,
        signal,
        timeLimited,
        endsAt,
        source: run.source.tagged(),
        step,
      })
      this.run.done.push(report)
      ended.length = before
    } catch (error) {
      for (const [i, report] of ended.entries()) if (i >= before) ended[i] = { ...report, step }
      if (run.signal.aborted) throw error
      // A fault of ours in one step isn't one of the others, and decides the exit code.
      if (!isExpected(error)) this.#failure = error
      else this.#isSourceAway ||= work.asksSource
      this.#failure ??= error
    }
  }
}

/** The result of all steps: a job's document has the form of a run's. */
async function reportOfJob(
  { runId, source, warehouse, clock, startedAt, done, shard }: RecordedRun,
  plan: JobPlan,
  cut: Ending | null,
): Promise<RunReport> {
  const { requests, rateLimited, retries } = source.stats()
  return {
    run_id: runId,
    job: plan.name,
    mode: modeOf(plan),
    shard: shard ? shardName(shard) : undefined,
    status: plan.steps.some((work) => work) ? statusOfJob(done, cut) : 'ok',
    started_at: startedAt,
    finished_at: now({ clock }),
    requests,
    rate_limited: rateLimited,
    retries,
    rows_upserted: rowsIn(done, 'rows_upserted'),
    rows_deleted: rowsIn(done, 'rows_deleted'),
    quarantined: await quarantinedBy({ warehouse, shard }, done, startedAt),
    reason: cut ?? done.find(({ reason }) => reason !== null)?.reason ?? null,
    warehouse_made: warehouse.madeAs,
    cursors: done.flatMap(({ cursors }) => cursors),
  }
}

function statusOfJob(done: readonly RunReport[], cut: Ending | null): RunReport['status'] {
  const [first, ...more] = new Set(done.map(({ status }) => status))
  if (first === undefined) return 'failed'
  if (more.length > 0) return 'partial'
  return first === 'ok' && cut !== null ? 'partial' : first
}

/** A value that several steps have met is in quarantine once. */
async function quarantinedBy(
  { warehouse, shard }: Pick<RecordedRun, 'warehouse' | 'shard'>,
  done: readonly RunReport[],
  since: string,
): Promise<number> {
  const met = done.reduce((sum, { quarantined }) => sum + quarantined, 0)
  if (met === 0) return 0
  const counts = await quarantinedSince(warehouse, since, shard)
  return Math.min(
    met,
    [...counts.values()].reduce((sum, count) => sum + count, 0),
  )
}

/*
 * Takes deliveries and carries them out, several at a time, until a signal comes. Used by `shopsync worker`, and by
 * `shopsync schedule` with schedule.work.
 *
 * waiting:  nothing is due; it looks once a second.
 * carrying: the delivery's run is under way; the queue hears so every five seconds.
 * put back: the run was cut short, or could not do its work. The worker that takes the delivery next continues.
 * done:     the run did what it could: trying again at once would find the same.
 */
import { hostname } from 'node:os'
import { Bug, bugExitCode, describeError, isExpected, Retry, Stop } from '../../engine/base/errors.js'
import { isCut } from '../../engine/run/ending.js'
import { plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import { isSuperseded } from '../../engine/warehouse/lease/oneconfiguration.js'
import {
  type Again,
  type Deliveries,
  partName,
  type Taken,
  waitsAfterBug,
} from '../../engine/warehouse/queue/deliveries.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { aroundJobs, type Job, jobFolders, readJob } from '../jobs/jobfile.js'
import { runWithin } from '../jobs/within.js'

/** Milliseconds between two looks for a delivery. */
const betweenLooks = 1000
/** Milliseconds between two words to the queue about a run that is under way. */
const betweenWords = 5000
/** Milliseconds until a database that is away is asked again. */
const whileAway = 5000

/** Milliseconds that a run waits for the lease of its shard: a dead holder's expires in half of that. */
const leaseWait = 120_000
/** Milliseconds that one run may take: others that wait for their shard come first then. */
const longestRun = 6 * 3_600_000

/** From so many deaths in a row on, it is reported. */
const manyDeaths = 3

/** How a run ended, as far as its delivery is concerned. */
type Ended = Awaited<ReturnType<typeof runWithin>>

interface PoolOptions {
  readonly warehouse: Warehouse
  readonly queue: Deliveries
  /** Fires when no more deliveries should be taken. Those under way end when the program's signal fires. */
  readonly signal: AbortSignal
  /** How many at a time. */
  readonly parallel: number
  /** Ends when nothing waits. */
  readonly once: boolean
  /** Work with other settings has written the warehouse: everything has to be opened again. */
  readonly superseded: (error: Error) => void
  /** What each run is put into. */
  readonly around?: <T>(work: () => Promise<T>) => Promise<T>
}

/** What becomes of a delivery whose run has ended. `deaths`: how many before it ended by an error of ours. */
export function becomes({ exitCode, reason, error }: Ended, isEnding: boolean, deaths = 0): 'done' | Again {
  if (exitCode === undefined || exitCode === 0) return 'done'
  if (isEnding || isSuperseded(error)) return 'later'
  if (exitCode === 3 || exitCode === 4) return 'later'
  // In vain for good, it would keep the next round of all shards from beginning, which tries this one again, too.
  if (exitCode === bugExitCode) return deaths < waitsAfterBug.length ? 'broken' : 'done'
  const code = reason ?? (error instanceof Stop ? (error.details.code ?? null) : null)
  return isCut(code) ? 'now' : 'done'
}

/** Whether the database is away. */
const isAway = (error: unknown): boolean =>
  error instanceof Retry || (error instanceof Stop && error.details.cause instanceof Retry)

export class Pool {
  /** What is under way, such as `hourly 3/8`. */
  readonly running = new Set<string>()
  /** What the last question to the queue met; undefined if it was answered. */
  #trouble: string | undefined
  #failure: unknown

  constructor(
    private readonly context: CommandContext,
    private readonly options: PoolOptions,
  ) {}

  /** Works until the signal fires or, with `once`, nothing waits. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.options.parallel }, () => this.#work()))
    if (this.#failure !== undefined) throw this.#failure
  }

  get #isOver(): boolean {
    return this.options.signal.aborted || this.#failure !== undefined
  }

  async #work(): Promise<void> {
    const { once, signal } = this.options
    const { clock } = this.context
    try {
      while (!this.#isOver) {
        const taken = await this.#asking((queue) => queue.take(`${hostname()} (pid ${process.pid})`))
        if (taken) await this.#carryOut(taken)
        else if (once && (await this.#isEmpty())) return
        else if (!this.#isOver) await clock.sleep(betweenLooks, signal)
      }
    } catch (error) {
      this.#failure ??= error
    }
  }

  async #isEmpty(): Promise<boolean> {
    const { warehouse } = this.options
    const seen = await this.#asking(() => warehouse.dialect.deliveries.seen())
    return this.#trouble === undefined && !(seen?.deliveries ?? []).some(({ status }) => status === 'waiting')
  }

  /**
   * Asks the queue. Nothing that it holds is worth ending for: whatever is wrong with it, the worker says so once, waits,
   * and asks again. Returns undefined after a pause.
   */
  async #asking<T>(ask: (queue: Deliveries) => Promise<T>): Promise<T | undefined> {
    const { warehouse, queue, signal } = this.options
    const { clock, log } = this.context
    try {
      const answer = await warehouse.trying(() => ask(queue))
      if (this.#trouble !== undefined) log.info('The warehouse is back')
      this.#trouble = undefined
      return answer
    } catch (error) {
      if (error instanceof Bug) throw error
      const trouble = describeError(error)
      const whose = isAway(error) ? 'the warehouse' : 'its queue of deliveries'
      if (this.#trouble !== trouble) log.warn({ error: trouble }, `Waiting for ${whose}`)
      this.#trouble = trouble
      await clock.sleep(whileAway, signal)
      return undefined
    }
  }

  async #carryOut(taken: Taken): Promise<void> {
    const { context } = this
    const part = partName(taken.shard)
    const fields = { job: taken.round.job, part, planned_at: taken.round.plannedAt }
    context.log.info(fields, 'Delivery taken')
    if (taken.deaths >= manyDeaths) await this.#tellDeaths({ ...fields, deaths: taken.deaths })
    const name = `${taken.round.job} ${part}`
    this.running.add(name)
    const ended = new AbortController()
    const words = this.#keepWord(taken, ended.signal)
    try {
      const end = await this.#runOf(taken)
      const after = becomes(end, context.invocation.signals.signal.aborted, taken.deaths)
      context.log.info({ ...fields, exit_code: end.exitCode ?? null, again: after }, 'Delivery ended')
      ended.abort()
      await words
      await this.#settle(taken, after, end)
      const deaths = taken.deaths + 1
      if (after === 'broken' && deaths >= manyDeaths) await this.#tellDeaths({ ...fields, deaths })
    } finally {
      ended.abort()
      this.running.delete(name)
    }
  }

  /** While nobody survives it, no run ends that would tell people. */
  async #tellDeaths(fields: object): Promise<void> {
    const { context } = this
    context.log.warn(fields, 'Workers have died of this delivery, fell silent, or met an error of shopsync')
    for (const feature of context.invocation.features)
      await feature
        .whileListening?.(context)
        .catch((error: unknown) => context.survived(error, 'Nobody was told'))
  }

  /** An older program than the warehouse's gives the delivery back, and ends. */
  async #settle(taken: Taken, after: 'done' | Again, { exitCode, error }: Ended): Promise<void> {
    const refusal = exitCode === 2 ? await this.#refusal() : undefined
    if (refusal || after === 'later') await this.#asking(() => taken.again('later'))
    else await this.#asking(() => (after === 'done' ? taken.done() : taken.again(after)))
    if (refusal) throw refusal
    if (isSuperseded(error)) this.options.superseded(error)
  }

  /** Why this program can't use the warehouse any more. */
  #refusal(): Promise<unknown> {
    return plannedChanges(this.options.warehouse).then(
      () => undefined,
      (error: unknown) => (isAway(error) ? undefined : error),
    )
  }

  async #runOf(taken: Taken): Promise<Ended> {
    const { context, options } = this
    const { around = (work) => work() } = options
    const { round, shard } = taken
    let job: Job
    try {
      const surroundings = await aroundJobs(context.invocation, context.config.api.allowInsecure)
      job = readJob(round.job, jobFolders(context.invocation), surroundings)
    } catch (error) {
      context.log.error({ job: round.job, error: describeError(error) }, 'Job failed')
      return { exitCode: isExpected(error) ? 2 : bugExitCode, reason: null, error }
    }
    const plan = {
      ...job,
      wait: Math.max(job.wait, leaseWait),
      timeLimit: Math.min(job.timeLimit ?? longestRun, longestRun),
      plannedAt: round.plannedAt,
    }
    return around(() => runWithin(context, plan, shard ? { shard: partName(shard) } : { whole: true }))
  }

  /** If nothing is heard for fifteen seconds, the delivery goes to another worker; the lease still decides who may write. */
  async #keepWord(taken: Taken, ended: AbortSignal): Promise<void> {
    const { clock, log } = this.context
    while (!ended.aborted) {
      await clock.sleep(betweenWords, ended)
      if (ended.aborted) return
      await taken
        .touch()
        .catch((error: unknown) => log.debug({ error: describeError(error) }, 'The queue did not hear'))
    }
  }
}

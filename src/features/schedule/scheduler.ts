/*
 * `shopsync schedule`: runs each job when it is due, one at a time, until it is told to end. The plan is stored in
 * sync_jobs before a run starts. So a run that was missed, while another one was running or the program was down, is
 * made up for once: one run covers all instants that passed meanwhile.
 */
import type { Clock } from '../../engine/base/clock.js'
import { describeError, Retry, Skip, Stop } from '../../engine/base/errors.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import { Instants } from '../../engine/config/instants.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { JobBook, ScheduledJob } from './jobbook.js'
import { type JobRow, readJobRows, storeJobRow } from './sql.js'

/** Milliseconds between two checks of the job files. */
const betweenLooks = 10_000

/**
 * How often a run is started for one planned instant. A run that kills the whole process would otherwise do so each
 * time the process is restarted.
 */
const mostAttempts = 2

/** Milliseconds until a round is tried again whose predecessor is still under way. */
const betweenRounds = 5000

/** How far back missed instants are counted: only the last one matters. */
const longestAway = 2 * 86_400_000

/** The exit code of a job that did nothing because another run holds the warehouse. */
const locked = 4

/**
 * Milliseconds until such a job is tried again. If a run was killed with its container, nobody can see that it is dead,
 * but by then its lock has expired. Trying more often would fill the log during the hours of a first load.
 */
const untilExpired = 61_000

export interface EndedJob {
  readonly job: string
  readonly exitCode: number
  readonly next: { readonly job: string; readonly at: string } | undefined
}

interface Planned {
  job: ScheduledJob
  instants: Instants
  row: JobRow
  /** When a job that found the warehouse locked, or its last round under way, is tried again. */
  again?: string
  /** When a plan for this instant was last found possible: it stays so, until the clock is set back. */
  sound?: { readonly due: string; readonly at: string }
}

/** When a job is due. */
const dueAt = ({ row, again }: Planned): string => again ?? row.planned_at ?? never

const never = '9999-12-31T23:59:59.999999Z'
const canonical = (milliseconds: number): string => fromMicros(BigInt(milliseconds) * 1000n)
const milliseconds = (time: string): number => Number(toMicros(time) / 1000n)

export class Schedule {
  readonly #planned = new Map<string, Planned>()
  #stored: Map<string, JobRow> | undefined
  #running: string | null = null
  #first: string | undefined

  constructor(
    private readonly parts: {
      readonly warehouse: Writer
      readonly clock: Clock
      /** Fires when the program is shutting down: a running job is told to end, too. */
      readonly signal: AbortSignal
      readonly timeZone: string
      readonly book: JobBook
      /**
       * Runs a job to its end, for the instant at which it was due; returns the exit code, undefined if that instant's work
       * was done before. Never throws.
       */
      readonly run: (job: ScheduledJob, plannedAt: string | undefined) => Promise<number | undefined>
      /**
       * Sends the job's round for an instant to workers, instead of running it; false if that has to wait. Never throws.
       */
      readonly send?: ((job: string, plannedAt: string) => Promise<boolean>) | undefined
      readonly log: {
        info(fields: object, message: string): void
        warn(fields: object, message: string): void
      }
      /** A job that is due at once, whatever its schedule, and follows its schedule from then on. */
      readonly first?: string | undefined
      /** Called when a job has ended, with what comes next. */
      readonly ended?: (ended: EndedJob) => void
    },
  ) {
    this.#first = parts.first
  }

  /** What is planned and what ran last, by name. */
  get rows(): readonly JobRow[] {
    return [...this.#planned.values()].map(({ row }) => row)
  }

  /** The job that is running. */
  get running(): string | null {
    return this.#running
  }

  /** Runs until the signal fires. `jobs`: as the book has them now. */
  async run(jobs: readonly ScheduledJob[]): Promise<void> {
    const { clock, signal, book } = this.parts
    let seen = jobs
    while (!signal.aborted) {
      await this.#plan(seen)
      const due = this.#due()
      if (due) await (this.parts.send ? this.#send(due, this.parts.send) : this.#carryOut(due))
      else await clock.sleep(this.#untilNext(), signal)
      seen = book.look((error, name) => this.#sayBroken(error, name))
    }
  }

  #sayBroken(error: Stop, name: string): void {
    this.parts.log.warn(
      { job: name, error: describeError(error) },
      'A job file is wrong: the job stays as it was',
    )
  }

  get #now(): string {
    return fromMicros(this.parts.clock.nowMicros())
  }

  /** Milliseconds until something is due, or until the next check of the files. */
  #untilNext(): number {
    const now = milliseconds(this.#now)
    const next = Math.min(...[...this.#planned.values()].map((planned) => milliseconds(dueAt(planned))))
    return Math.max(1, Math.min(betweenLooks, next - now))
  }

  /** The due job whose turn came first. */
  #due(): Planned | undefined {
    const now = this.#now
    const due = [...this.#planned.values()].filter((planned) => dueAt(planned) <= now)
    const turn = ({ row }: Planned): string => `${row.planned_at} ${row.job}`
    return due.sort((a, b) => (turn(a) < turn(b) ? -1 : 1))[0]
  }

  /** Updates the plan to match the job files. */
  async #plan(jobs: readonly ScheduledJob[]): Promise<void> {
    const names = new Set(jobs.map(({ name }) => name))
    for (const name of this.#planned.keys()) if (!names.has(name)) this.#planned.delete(name)
    for (const job of jobs) {
      const known = this.#planned.get(job.name)
      const isKept = known?.job.schedule === job.schedule && this.#isSound(known)
      if (known && isKept) known.job = job
      else await this.#planAnew(job, known?.row ?? (await this.#storedRows()).get(job.name))
    }
  }

  #isSound(known: Planned): boolean {
    const [due, now] = [dueAt(known), this.#now]
    const { sound } = known
    if (sound?.due !== due || now < sound.at) {
      if (isVoid(known.instants, due, now)) return false
      known.sound = { due, at: now }
    }
    return true
  }

  async #storedRows(): Promise<Map<string, JobRow>> {
    this.#stored ??= await readJobRows(this.parts.warehouse)
    return this.#stored
  }

  async #planAnew(job: ScheduledJob, before: JobRow | undefined): Promise<void> {
    const { timeZone, log } = this.parts
    const instants = new Instants(job.schedule, timeZone)
    const now = this.#now
    const empty = { last_planned_at: null, started_at: null, finished_at: null, exit_code: null }
    const meant = { job: job.name, schedule: job.schedule, time_zone: timeZone }
    const fresh: JobRow = { ...empty, ...before, ...meant, planned_at: after(instants, now), attempts: 0 }
    const plannedAt = before?.planned_at ?? null
    const isFar = plannedAt !== null && isVoid(instants, plannedAt, now)
    const isSame = before?.schedule === job.schedule && before.time_zone === timeZone && !isFar
    const isMissed = before?.planned_at != null && before.planned_at <= now
    if (before && isMissed && Number(before.attempts ?? 0) < mostAttempts) {
      log.info({ job: job.name, planned_at: before.planned_at }, 'Catching up on a missed run')
      this.#planned.set(job.name, { job, instants, row: { ...before, ...meant } })
      return
    }
    if (isMissed)
      log.warn(
        { job: job.name, planned_at: before.planned_at, next: fresh.planned_at },
        `The run was cut short ${mostAttempts} times; it runs again when it is due next`,
      )
    const planned = before && isSame && !isMissed ? before : fresh
    const row = job.name === this.#first ? { ...planned, planned_at: now } : planned
    if (row !== planned) this.#first = undefined
    this.#planned.set(job.name, { job, instants, row })
    if (row !== before) await this.#store(row)
  }

  /** Instants that passed while the last round was under way, or the program down, have one round. */
  async #send(planned: Planned, send: NonNullable<Schedule['parts']['send']>): Promise<void> {
    const { job, instants, row } = planned
    const now = this.#now
    const plannedAt = lastInstant(instants, row.planned_at ?? now, now)
    if (!(await send(job.name, plannedAt))) {
      planned.again = canonical(milliseconds(now) + betweenRounds)
      return
    }
    delete planned.again
    const done = { last_planned_at: plannedAt, started_at: now, finished_at: this.#now, exit_code: 0 }
    planned.row = { ...row, ...done, planned_at: after(instants, latest(plannedAt, now)), attempts: 0 }
    this.parts.log.info({ job: job.name, planned_at: plannedAt, next: planned.row.planned_at }, 'Round sent')
    await this.#store(planned.row)
  }

  async #carryOut(planned: Planned): Promise<void> {
    const { run, log, signal } = this.parts
    const { job, instants, row } = planned
    const started = this.#now
    const attempts = Number(row.attempts ?? 0)
    const begun = { ...row, started_at: started, finished_at: null, exit_code: null }
    planned.row = { ...begun, attempts: attempts + 1 }
    this.#running = job.name
    log.info({ job: job.name, planned_at: row.planned_at }, 'Job begins')
    await this.#store(planned.row)
    const exitCode = await run(job, row.planned_at ?? undefined)
    this.#running = null
    // A run covers what passed before it started; what passed since is due.
    const from = latest(row.planned_at ?? started, started)
    const done = { planned_at: after(instants, from), last_planned_at: row.planned_at, attempts: 0 }
    if (exitCode === undefined) {
      delete planned.again
      planned.row = { ...row, ...done }
      return this.#store(planned.row)
    }
    const isCut = signal.aborted && exitCode !== 0
    const isLocked = exitCode === locked && planned.again === undefined
    delete planned.again
    if (isLocked) planned.again = canonical(milliseconds(this.#now) + untilExpired)
    const over = { ...begun, finished_at: this.#now, exit_code: exitCode }
    if (isCut) planned.row = { ...begun, attempts }
    else if (isLocked) planned.row = { ...over, attempts }
    else planned.row = { ...over, ...done }
    log.info(
      { job: job.name, exit_code: exitCode, next: planned.again ?? planned.row.planned_at },
      'Job ended',
    )
    await this.#store(planned.row)
    if (!signal.aborted) this.parts.ended?.({ job: job.name, exitCode, next: this.#next })
  }

  /** What is due next. */
  get #next(): EndedJob['next'] {
    const all = [...this.#planned.values()].map((planned) => ({ job: planned.job.name, at: dueAt(planned) }))
    return all.filter(({ at }) => at !== never).sort((a, b) => (a.at < b.at ? -1 : 1))[0]
  }

  /** A warehouse that is down keeps no job from running; the plan is stored again with the next change. */
  async #store(row: JobRow): Promise<void> {
    try {
      await this.parts.warehouse.write([storeJobRow(this.parts.warehouse.db, row)])
    } catch (error) {
      if (!(error instanceof Retry || error instanceof Skip || error instanceof Stop)) throw error
      this.parts.log.warn({ job: row.job, error: describeError(error) }, 'The plan could not be stored')
    }
  }
}

/**
 * Whether the plan is further ahead than possible: a wrong clock has planned it. One extra instant is allowed, since a
 * small correction of the clock must not repeat an instant's work.
 */
function isVoid(instants: Instants, planned: string, now: string): boolean {
  const next = after(instants, now)
  const second = next === null ? null : after(instants, next)
  const soon = canonical(milliseconds(now) + 2 * untilExpired)
  return second !== null && planned > second && planned > soon
}

/** The next instant after a moment, canonical; null if the schedule never comes again. */
function after(instants: Instants, time: string): string | null {
  const next = instants.next(milliseconds(time))
  return next === undefined ? null : canonical(next)
}

const latest = (a: string, b: string): string => (a > b ? a : b)

/** The last of a schedule's instants from a planned one until now. */
function lastInstant(instants: Instants, planned: string, now: string): string {
  let last = planned
  const from = canonical(milliseconds(now) - longestAway)
  for (let next = after(instants, latest(planned, from)); next !== null && next <= now; ) {
    last = next
    next = after(instants, next)
  }
  return last
}

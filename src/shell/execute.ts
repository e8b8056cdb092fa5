/* Carries out a run. Used by commands that are a run, and by the steps of a job. */
import {
  bugExitCode,
  describeError,
  exitCodeOf,
  isExpected,
  Retry,
  Skip,
  Stop,
} from '../engine/base/errors.js'
import { lengthOf } from '../engine/config/moment.js'
import { timeLimit } from '../engine/run/ending.js'
import { runStep, runSync, type StepRequest } from '../engine/run/run.js'
import type { Dependencies } from '../engine/run/runcontext.js'
import type { CursorChoice, Observer, RunReport } from '../engine/run/runreport.js'
import type { JobWork } from '../engine/run/steps.js'
import { now } from '../engine/run/tenant.js'
import type { CommandContext, FinishedWork, Invocation, TellStep, WorkName } from './command.js'
import { withContext } from './commandcontext.js'
import { showProgress } from './progress.js'
import { runSummary, runTroubles } from './runsummary.js'
import { type ProgressCounts, resumption, Tracker } from './tracker.js'

/** The part of a request that each command sets itself; tenants and resources come from the flags. */
type Purpose = Omit<StepRequest, keyof CursorChoice | 'job'>

/** A command that is one run: carries it out, prints its report, returns the exit code. */
export function runOnce(
  invocation: Invocation,
  purpose: (context: CommandContext) => Purpose | Promise<Purpose>,
): Promise<number> {
  return withContext(invocation, (context) =>
    withFollowing(context, { job: null, onRecord: true, shard: context.shard }, async (note) => {
      const report = await execute(context, { ...(await purpose(context)), ...context.choice, job: null })
      // call.ts reports where an interrupted run resumes.
      if (invocation.signals.signal.aborted) return 1
      note(report)
      await invocation.out.answer(report, runSummary(report, invocation.out.terminal))
      invocation.out.complain(runTroubles(report))
      return exitCodeOfRun(report)
    }),
  )
}

/** Carries out one run, with its progress display, its log and its handling of signals. */
export async function execute(context: CommandContext, request: StepRequest): Promise<RunReport> {
  // A wrong limit is reported before anything is created.
  const limit = timeLimitOf(context.invocation.options)
  const deps = await context.dependencies(await context.open('create'))
  using limited = timeLimit(limit, deps)
  const { signal, timeLimited, endsAt } = limited
  using watch = new RunWatch(context, deps)
  const given = { ...deps, signal, timeLimited, endsAt }
  return await watch.ending(runSync({ ...given, observer: watch.observer }, request))
}

/** The progress display and the log of a run, or of a step of a job. */
class RunWatch {
  readonly #tracker = new Tracker()
  readonly observer: Observer
  readonly #stop: () => void

  constructor(
    private readonly context: CommandContext,
    { observer, source }: Pick<Dependencies, 'observer' | 'source'>,
  ) {
    this.observer = { ...observer, ...observerOf(context, this.#tracker) }
    context.invocation.signals.resumesAt = () => resumption(this.#tracker.counts())
    this.#stop = showProgress(context, this.#tracker, () => source.stats())
  }

  [Symbol.dispose](): void {
    this.#stop()
  }

  /** Logs how the run ended. */
  async ending(run: Promise<RunReport>): Promise<RunReport> {
    const { invocation, log } = this.context
    try {
      const report = await run
      const { cursors, ...totals } = report
      if (report.quarantined > 0 && !invocation.out.isRead)
        log.warn(
          { quarantined: report.quarantined },
          'Some values could not be stored: see shopsync quarantine list',
        )
      log.info({ ...totals, cursors: cursors.length }, 'Run ended')
      return report
    } catch (error) {
      throw forTheRun(error, this.#tracker.counts())
    }
  }
}

/** An error that ends a cursor ends the whole run if no cursor has started. */
function forTheRun(error: unknown, counts: ProgressCounts): unknown {
  if (!(error instanceof Skip || error instanceof Retry)) return error
  const exitCode = counts.cursors === 0 ? 3 : 1
  return new Stop(`The run could not ${exitCode === 3 ? 'start' : 'continue'}: ${describeError(error)}`, {
    exitCode,
    hint: 'Type shopsync check to find out what is wrong',
    cause: error,
  })
}

/** Exit code of a run that reached its end. */
export function exitCodeOfRun({ status, cursors }: RunReport): number {
  if (cursors.some(({ reason }) => reason === 'bug')) return bugExitCode
  return status === 'ok' ? 0 : 1
}

/** Passes the events of a run to the tracker and to the log. */
function observerOf({ log, invocation }: CommandContext, tracker: Tracker): Observer {
  // A person at the terminal reads it a moment later in the summary, with equal problems grouped.
  const failed = invocation.out.isRead ? 'info' : 'warn'
  return {
    planned: (tenants, cursors) => {
      tracker.planned(tenants, cursors)
      log.info({ tenants, cursors }, 'Planned')
    },
    begun: (cursor) => tracker.begun(cursor),
    step: (what, done, total) => tracker.step(what, done, total),
    page: (event) => {
      tracker.page(event)
      const { tenantId: tenant_id, resource, records, done, expected } = event
      log.debug({ tenant_id, resource, records, done, expected }, 'Page')
    },
    cursor: (report) => {
      tracker.cursor(report)
      const { tenant_id, resource, requests, records, rows_upserted, completeness } = report
      const fields = { tenant_id, resource, requests, records, rows_upserted, completeness }
      if (report.status === 'failed') log[failed]({ ...fields, error: report.error }, 'Cursor failed')
      // The summary has them; hundreds of lines about what went well would bury the others.
      else log.debug(fields, 'Cursor done')
    },
  }
}

/** The milliseconds of --time-limit. undefined without the flag. */
export function timeLimitOf(options: Readonly<Record<string, unknown>>): number | undefined {
  const { timeLimit } = options
  if (timeLimit === undefined) return undefined
  // No limit is a number of months.
  const milliseconds = lengthOf(String(timeLimit).replace(/^(\d+(?:\.\d+)?) ?m$/i, '$1min'))
  if (milliseconds !== undefined && milliseconds > 0) return milliseconds
  throw new Stop(`Found --time-limit "${timeLimit}", expected a duration longer than zero`, {
    exitCode: 2,
    hint: 'Type for example --time-limit 45min, or PT45M',
  })
}

/**
 * Does a piece of work, which records what its parts report and may resolve to an exit code, and then lets every
 * feature do what follows it; if that fails, the exit code is 1. Nothing follows work that a signal ended: it should end
 * now, and wasn't completed.
 */
export async function withFollowing<T>(
  context: CommandContext,
  name: WorkName,
  work: (note: (report: RunReport) => void) => Promise<T>,
): Promise<T> {
  const { features, out, signals } = context.invocation
  const startedAt = now(context)
  const reports: RunReport[] = []
  const follow = async (end: Pick<FinishedWork, 'exitCode' | 'error'>): Promise<number> => {
    let { exitCode } = end
    for (const feature of features) {
      if (signals.signal.aborted) break
      try {
        const code = await feature.afterWork?.(context, { ...name, startedAt, reports, ...end, exitCode })
        exitCode = Math.max(exitCode, code ?? 0)
      } catch (error) {
        if (isExpected(error)) throw error
        // What the other features do afterwards doesn't depend on it.
        out.survive(error)
      }
    }
    return exitCode
  }
  let done: T
  try {
    done = await work((report) => void reports.push(report))
  } catch (error) {
    await follow({ exitCode: exitCodeOf(error), error })
    throw error
  }
  const ended = typeof done === 'number' ? done : 0
  const exitCode = await follow({ exitCode: out.isBroken ? bugExitCode : ended })
  return (typeof done === 'number' ? exitCode : done) as T
}

/** A step that is a run's work on cursors. */
export const runAsStep = (context: CommandContext, request: StepRequest, tell: TellStep): JobWork => ({
  asksSource: true,
  isDue: request.round !== undefined,
  carryOut: async ({ step, ...run }) => {
    using watch = new RunWatch(context, run)
    const work = async (): Promise<RunReport> => {
      const report = await runStep({ ...run, observer: watch.observer }, request, step)
      tell(report, runSummary(report, context.invocation.out.terminal))
      return report
    }
    return await watch.ending(work())
  },
})

/** The report of a step that doesn't query the source, in the form that all steps share. */
export const reportOfNothing = (
  done: Pick<RunReport, 'run_id' | 'job' | 'mode' | 'started_at' | 'finished_at'> &
    Partial<Pick<RunReport, 'rows_upserted'>>,
): RunReport => ({
  status: 'ok',
  requests: 0,
  rate_limited: 0,
  retries: 0,
  rows_upserted: 0,
  rows_deleted: 0,
  quarantined: 0,
  reason: null,
  cursors: [],
  ...done,
})

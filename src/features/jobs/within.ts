/* A job inside a program that stays up: `schedule`, and the workers. */
import { Writable } from 'node:stream'
import { bugExitCode, errorFields, exitCodeOf } from '../../engine/base/errors.js'
import type { Reason } from '../../engine/base/reasons.js'
import { AlreadyRan, type JobPlan } from '../../engine/run/steps.js'
import { isSuperseded } from '../../engine/warehouse/lease/oneconfiguration.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import { withConfig } from '../../shell/commandcontext.js'
import { Output } from '../../shell/output.js'
import { stillSignals } from '../../shell/signals.js'
import type { Job } from './jobfile.js'
import { carryOutJob } from './work.js'

interface EndedJob {
  /** undefined: the work of its instant was done before. */
  readonly exitCode: number | undefined
  /** The run's; null if it came to no report. */
  readonly reason: Reason | null
  /** What it threw. */
  readonly error?: unknown
}

/**
 * Runs a job as `shopsync run` would, with its own warehouse and client, both closed at its end. Never throws; what the
 * run found is logged, unless the program must open everything again (`isSuperseded`). `options`: the flags.
 */
export async function runWithin(
  context: CommandContext,
  job: Job & Pick<JobPlan, 'plannedAt'>,
  options: Invocation['options'] = {},
): Promise<EndedJob> {
  const { invocation, config, clock, log } = context
  const { out, signals, io } = invocation
  const rowSettings = await context.rowSettings()
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done() })
  const told = new Output({ json: false, quiet: out.quiet, stdout, stderr: io.stderr })
  const its = new AbortController()
  // No listener on the signal of one run is left behind on the process's signal.
  const end = (): void => its.abort(signals.signal.reason)
  signals.signal.addEventListener('abort', end, { once: true })
  if (signals.signal.aborted) end()
  const given: Invocation = {
    ...invocation,
    options,
    out: told,
    signals: stillSignals(its.signal),
  }
  let reason: Reason | null = null
  const ended: Parameters<typeof carryOutJob>[2] = (report) => {
    reason = report.reason
  }
  try {
    const carryOut = (its: CommandContext): Promise<number> => carryOutJob(its, job, ended)
    const exitCode = await withConfig(given, config, carryOut, clock, rowSettings)
    return { exitCode: told.isBroken ? bugExitCode : exitCode, reason }
  } catch (error) {
    if (error instanceof AlreadyRan) {
      log.info({ job: job.name, planned_at: job.plannedAt }, 'Another run has already done this job')
      return { exitCode: undefined, reason, error }
    }
    const exitCode = exitCodeOf(error)
    const fields = { job: job.name, shard: options.shard }
    // A job that another run blocks has not failed: it will be tried again.
    if (exitCode === 4) log.warn({ ...fields, ...errorFields(error) }, 'Job did not run')
    else if (!isSuperseded(error)) log.error({ ...fields, ...errorFields(error) }, 'Job failed')
    return { exitCode, reason, error }
  } finally {
    signals.signal.removeEventListener('abort', end)
  }
}

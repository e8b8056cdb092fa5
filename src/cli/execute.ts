import { Retry, Skip, Stop } from '../errors.js'
import { indent } from '../format.js'
import type { Observer, RunReport, RunRequest } from '../sync/run/report.js'
import { runSync } from '../sync/run/run.js'
import type { CommandContext } from './context.js'
import { ProgressDisplay, type ProgressTally, Tracker } from './text/progress.js'

/** Carries out one run, with its progress display, its log and its answer to signals. */
export async function execute(context: CommandContext, request: RunRequest): Promise<RunReport> {
  const { config, model, clock, invocation } = context
  const warehouse = await context.readyWarehouse()
  const stamps = await context.stamps(warehouse)
  // Its own share of the source: the next step of a job must not count this one's requests again.
  const source = (await context.source(stamps)).tagged()
  const tracker = new Tracker()
  const { signals } = invocation
  signals.resumesAt = () => resumption(tracker.tally())
  const stopProgress = showProgress(context, tracker, () => source.stats())
  const observer = observerOf(context, tracker)
  try {
    const parts = { config, model, warehouse, source, clock, stamps, observer, signal: signals.signal }
    const report = await runSync(parts, request)
    const { cursors, ...totals } = report
    context.log.info({ ...totals, cursors: cursors.length }, 'Run ended')
    return report
  } catch (error) {
    throw forTheRun(error, tracker.tally())
  } finally {
    stopProgress()
  }
}

/** What ends a cursor when it meets a cursor ends the run when it meets what comes before all cursors. */
function forTheRun(error: unknown, tally: ProgressTally): unknown {
  if (!(error instanceof Skip || error instanceof Retry)) return error
  const exitCode = tally.cursors === 0 ? 3 : 1
  const hint = 'Type shopsync check to see what is wrong'
  return new Stop(`The run could not ${exitCode === 3 ? 'start' : 'go on'}: ${error.message}`, {
    exitCode,
    hint,
    cause: error,
  })
}

/** Exit code of a run that came to its end. */
export const exitCodeOf = (report: RunReport): number => (report.status === 'ok' ? 0 : 1)

function showProgress(
  context: CommandContext,
  tracker: Tracker,
  stats: ConstructorParameters<typeof ProgressDisplay>[2],
): () => void {
  const { stderr } = process
  if (!stderr.isTTY || context.invocation.out.quiet) return () => undefined
  const screen = { write: (text: string) => void stderr.write(text), width: () => stderr.columns || 80 }
  const progress = new ProgressDisplay(tracker, screen, stats)
  const { writeLog } = context
  context.writeLog = (text) => progress.around(() => writeLog(text))
  context.invocation.signals.cleanUp = () => progress.stop()
  return () => {
    progress.stop()
    context.writeLog = writeLog
  }
}

/** Tells the tracker and the log what a run tells. */
function observerOf({ log }: CommandContext, tracker: Tracker): Observer {
  return {
    planned: (tenants, cursors) => {
      tracker.planned(tenants, cursors)
      log.info({ tenants, cursors }, 'Planned')
    },
    page: (event) => {
      tracker.page(event)
      const { tenantId: tenant, resource, records, done, expected } = event
      log.debug({ tenant, resource, records, done, expected }, 'Page')
    },
    cursor: (report) => {
      tracker.cursor(report)
      const {
        tenant_id: tenant,
        resource,
        status,
        error,
        requests,
        records,
        rows_upserted,
        completeness,
      } = report
      const fields = { tenant, resource, requests, records, rows_upserted, completeness }
      if (status === 'failed') log.warn({ ...fields, error }, 'Cursor failed')
      // Of hundreds of idle cursors an hour, nobody wants to read one by one.
      else log[records > 1 || rows_upserted > 0 ? 'info' : 'debug'](fields, 'Cursor done')
    },
    notice: (message, fields) => log.warn(fields, message),
  }
}

const shownCursors = 10

/** What is said of a run that was interrupted: where the next one takes it up. */
export function resumption(tally: ProgressTally): string {
  if (tally.cursors === 0) return 'nothing was begun; the next run starts as this one did'
  const done = tally.cursorsDone - tally.underWay.length
  const head = `${Math.max(0, done)} of ${tally.cursors} cursors are done, ${tally.records} records were read`
  if (tally.underWay.length === 0) return `${head}; the next run resumes where this one stopped`
  const lines = tally.underWay
    .slice(0, shownCursors)
    .map(
      ({ tenantId, resource, done, expected }) =>
        `tenant ${tenantId}, ${resource}: record ${done} of ${expected}`,
    )
  const more = tally.underWay.length - shownCursors
  if (more > 0) lines.push(`and ${more} more`)
  return `${head}; the next run resumes at\n${indent(lines.join('\n'))}`
}

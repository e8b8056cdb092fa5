import { Stop } from '../engine/base/errors.js'
import type { RunReport } from '../engine/run/runreport.js'
import { now } from '../engine/run/tenant.js'
import type { CommandContext, FinishedWork, WorkName } from './command.js'

/**
 * Does a piece of work, which notes what its parts report and may resolve to an exit code, and has every feature do what
 * follows on it. Nothing follows on work that a signal has ended: it is to end now, and did not come to its end.
 */
export async function withFollowing<T>(
  context: CommandContext,
  name: WorkName,
  work: (note: (report: RunReport) => void) => Promise<T>,
): Promise<T> {
  const { features, signals } = context.invocation
  const startedAt = now(context)
  const reports: RunReport[] = []
  const follow = async (end: Pick<FinishedWork, 'exitCode' | 'error'>): Promise<void> => {
    if (signals.signal.aborted) return
    for (const feature of features)
      await feature.afterWork?.(context, { ...name, startedAt, reports, ...end })
  }
  try {
    const done = await work((report) => void reports.push(report))
    await follow({ exitCode: typeof done === 'number' ? done : 0 })
    return done
  } catch (error) {
    await follow({ exitCode: error instanceof Stop ? error.exitCode : 1, error })
    throw error
  }
}

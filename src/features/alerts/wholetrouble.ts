/*
 * What concerns a whole run: the credentials were refused, the API was away when it began, nobody grants anything, or
 * the run before it was killed. Used by alerts/work.ts.
 */
import { Retry, Skip, Stop, wordsOf } from '../../engine/base/errors.js'
import type { LastRun } from '../../engine/run/lastrun.js'
import { reasonAdvice, reasonText } from '../../engine/run/reasontext.js'
import type { RunReport } from '../../engine/run/runreport.js'
import type { FailedWork } from '../../engine/warehouse/failedworks.js'

export interface WholeTrouble {
  /** A short code: that of reasons.ts where there is one, else `credentials`, `killed`, `snapshot`, `report` or `error`. */
  readonly cause: string
  /** undefined: since now. */
  readonly since?: string
  readonly message: string
  readonly advice: string
  readonly lasts: 'state' | 'asked'
  /**
   * What follows from it and is no incident of its own. `all`: nobody could be asked for anything. `grants`: of cursors
   * whose tenants the authorizations do not show.
   */
  readonly swallows: 'all' | 'grants' | 'nothing'
}

/** A run as sync_runs has it. */
type EarlierRun = Pick<LastRun, 'run_id' | 'job' | 'mode' | 'status' | 'started_at' | 'finished_at'>

const usualAdvice = 'Type shopsync check to find out what is wrong; the next run tries again'

/**
 * An error is no trouble of a run where it says that nothing was done, since the usage was wrong or another run is at
 * work, or that somebody wanted the run to end.
 */
export function isOfTheRun(error: unknown): boolean {
  if (!(error instanceof Stop)) return true
  const { code } = error.details
  return (error.exitCode === 1 || error.exitCode === 3) && code !== 'interrupted' && code !== 'time_limit'
}

/** What ended the run before its cursors were done, or kept it from beginning. */
export function thrownTrouble(error: unknown): WholeTrouble {
  const { message, hint } = wordsOf(error)
  const cause = causeOf(error)
  return {
    cause,
    message: oneLine(message),
    advice: hint ?? usualAdvice,
    lasts: cause === 'error' || cause === 'warehouse' ? 'state' : 'asked',
    swallows: 'all',
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Stop || error instanceof Skip || error instanceof Retry)) return 'error'
  if (error.details.status === 401) return 'credentials'
  return error.details.code ?? (error.details.cause === undefined ? 'error' : causeOf(error.details.cause))
}

/** What a run that came to its end says of the whole of it. */
export function reportedTroubles(reports: readonly RunReport[]): WholeTrouble[] {
  const found = reports.map(({ reason }) => reason).find((reason) => reasonText(reason) !== '')
  if (found === undefined || found === null) return []
  const [message = ''] = reasonText(found).split('. ')
  return [
    {
      cause: found,
      message,
      advice: reasonAdvice[found] ?? usualAdvice,
      lasts: 'asked',
      swallows: found === 'no_grants' ? 'all' : found === 'grants_incomplete' ? 'grants' : 'nothing',
    },
  ]
}

/** The last run that was recorded before this one, where nobody recorded its end: it was killed. */
export function killedTrouble(last: EarlierRun | undefined, holder: string | null): WholeTrouble[] {
  if (last === undefined || last.finished_at !== null || last.run_id === holder) return []
  const { job, mode, started_at } = last
  return [
    {
      cause: 'killed',
      ...(started_at !== null && { since: started_at }),
      message: `The run before this one (${job ?? mode}, started ${started_at}) died without reporting: it was killed, or its machine went down`,
      advice:
        'What it stored is complete, and this run resumed where it stopped. Check whether the machine ran out of memory or was restarted',
      lasts: 'state',
      swallows: 'nothing',
    },
  ]
}

/** Snapshots and reports that failed when they were last tried, by whichever run that was. */
export const failedTroubles = (failed: readonly FailedWork[]): WholeTrouble[] =>
  failed.map(({ what, since, message, advice }) => ({
    cause: what,
    since,
    message: oneLine(message),
    advice: advice || usualAdvice,
    lasts: 'state',
    swallows: 'nothing',
  }))

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ')

/*
 * Problems of a whole run: the credentials were refused, the API was down when it started, no tenant is granted, or the
 * previous run was killed. Used by tellrules.ts.
 */
import { Retry, Skip, Stop, wordsOf } from '../../engine/base/errors.js'
import type { LastRun } from '../../engine/run/lastrun.js'
import { reasonAdvice, reasonText } from '../../engine/run/reasontext.js'
import { modeText, type RunReport } from '../../engine/run/runreport.js'
import type { FailedWork } from '../../engine/warehouse/failedworks.js'
import type { Lasting } from './incident.js'

export interface WholeTrouble {
  /**
   * A short code: the one from reasons.ts if there is one, otherwise `credentials`, `killed`, `snapshot`, `report` or
   * `error`.
   */
  readonly cause: string
  /** undefined: since now. */
  readonly since?: string
  readonly message: string
  readonly advice: string
  readonly lasts: Extract<Lasting, 'state' | 'asked' | 'run'>
  /**
   * What follows from it and isn't an incident of its own. `all`: nothing could be requested at all. `grants`: cursors
   * of tenants that are missing from the authorizations.
   */
  readonly swallows: 'all' | 'grants' | 'nothing'
}

/** A run as stored in sync_runs. */
type EarlierRun = Pick<LastRun, 'run_id' | 'job' | 'mode' | 'status' | 'started_at' | 'finished_at'>

const usualAdvice = 'Type shopsync check to find out what is wrong; the next run tries again'

/**
 * An error isn't a problem of the run if nothing was done (wrong usage, or another run is at work), or if the run was
 * asked to end.
 */
export function isOfTheRun(error: unknown): boolean {
  if (!(error instanceof Stop)) return true
  const { code } = error.details
  return (error.exitCode === 1 || error.exitCode === 3) && code !== 'interrupted' && code !== 'time_limit'
}

/** What ended the run before its cursors were done, or kept it from starting. */
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

/** What a finished run reports about itself as a whole. */
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

/**
 * If the previous run on record has no recorded end, it was killed. A good run has already made that right: anyone who is
 * told of it is told in the same breath that it is over.
 */
export function killedTrouble(
  last: EarlierRun | undefined,
  holder: string | null,
  isMadeGood: boolean,
): WholeTrouble[] {
  if (last === undefined || last.finished_at !== null || last.run_id === holder) return []
  const { job, mode, started_at } = last
  return [
    {
      cause: 'killed',
      ...(started_at !== null && { since: started_at }),
      message: `The run before this one (${job ?? modeText(mode)}, started ${started_at}) died without reporting: it was killed, or its machine went down`,
      advice:
        'What it stored is complete, and this run resumed where it stopped. Check whether the machine ran out of memory or was restarted',
      lasts: isMadeGood ? 'run' : 'state',
      swallows: 'nothing',
    },
  ]
}

/** Snapshots and reports whose last attempt failed, in whichever run. */
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

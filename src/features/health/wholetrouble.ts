/*
 * Problems of a whole run: the credentials were refused, the API was down when it started, no tenant is granted, or the
 * previous run was killed. Used by tellrules.ts.
 */
import { Retry, Skip, Stop, wordsOf } from '../../engine/base/errors.js'
import { type Shard, shardName } from '../../engine/base/shard.js'
import { isCut } from '../../engine/run/ending.js'
import type { LastRun, StatusHolder } from '../../engine/run/lastrun.js'
import { reasonAdvice, reasonText } from '../../engine/run/reasontext.js'
import { modeText, type RunReport } from '../../engine/run/runreport.js'
import type { FailedWork } from '../../engine/warehouse/state/failedworks.js'
import { foundIncident, isOfWhole, type KeptIncident } from './incident.js'

const usualAdvice = 'Type shopsync check to find out what is wrong; the next run tries again'

/**
 * An error isn't a problem of the run if nothing was done (wrong usage, or another run is at work), or if the run was
 * asked to end.
 */
export function isOfTheRun(error: unknown): boolean {
  if (!(error instanceof Stop)) return true
  const { code } = error.details
  return (error.exitCode === 1 || error.exitCode === 3) && code !== 'interrupted' && !isCut(code ?? null)
}

/** What ended the run before its cursors were done, or kept it from starting. */
export function thrownTrouble(error: unknown, now: string): KeptIncident {
  const { message, hint } = wordsOf(error)
  const cause = causeOf(error)
  return foundIncident({
    kind: 'failed',
    since: now,
    cause,
    message: oneLine(message),
    advice: hint ?? usualAdvice,
    lasts: cause === 'error' || cause === 'warehouse' ? 'state' : 'asked',
  })
}

/** A problem of a shard's run. */
export const ofShard = (shard: Shard | undefined, incident: KeptIncident): KeptIncident =>
  shard
    ? { ...incident, shard: shardName(shard), message: `Shard ${shardName(shard)}: ${incident.message}` }
    : incident

function causeOf(error: unknown): string {
  if (!(error instanceof Stop || error instanceof Skip || error instanceof Retry)) return 'error'
  if (error.details.status === 401) return 'credentials'
  return error.details.code ?? (error.details.cause === undefined ? 'error' : causeOf(error.details.cause))
}

/** What a finished run reports about itself as a whole. */
export function reportedTroubles(reports: readonly RunReport[], now: string): KeptIncident[] {
  const found = reports.map(({ reason }) => reason).find((reason) => reasonText(reason) !== '')
  if (found === undefined || found === null) return []
  const [message = ''] = reasonText(found).split('. ')
  const advice = reasonAdvice[found] ?? usualAdvice
  return [foundIncident({ kind: 'failed', since: now, cause: found, message, advice, lasts: 'asked' })]
}

/**
 * If the previous run on record has no recorded end, it was killed. A good run has already made that right: anyone who is
 * told of it is told in the same breath that it is over.
 */
export function killedTrouble(
  last:
    | Pick<LastRun, 'run_id' | 'job' | 'mode' | 'shard' | 'status' | 'started_at' | 'finished_at'>
    | undefined,
  holders: readonly Pick<StatusHolder, 'run_id'>[],
  isMadeGood: boolean,
  now: string,
): KeptIncident[] {
  if (last === undefined || last.finished_at !== null) return []
  const { run_id, job, mode, shard, started_at } = last
  if (holders.some((holder) => holder.run_id === run_id)) return []
  const name = `${job ?? modeText(mode)}${shard === null ? '' : `, shard ${shard}`}`
  return [
    foundIncident({
      kind: 'failed',
      since: started_at ?? now,
      cause: 'killed',
      message: `The run before this one (${name}, started ${started_at}) died without reporting: it was killed, or its machine or the warehouse went down`,
      advice:
        'What it stored is complete, and this run resumed where it stopped. Check whether the machine ran out of memory or was restarted',
      lasts: isMadeGood ? 'run' : 'state',
    }),
  ]
}

/** The same of a shard, for the run after all of them, which can't go on where it stopped. */
export const killedShard = (last: LastRun, now: string): KeptIncident => {
  const { job, shard, started_at } = last
  return foundIncident({
    kind: 'failed',
    since: started_at ?? now,
    cause: 'killed',
    shard,
    message: `The last run of shard ${shard} (${job}, started ${started_at}) died without reporting: it was killed, or its machine or the warehouse went down`,
    advice: `What it stored is complete. Type shopsync run ${job} --shard ${shard}: it resumes there. Check whether the machine ran out of memory or was restarted`,
  })
}

/** Snapshots, reports and what runs after a run, if the last attempt failed, in whichever run. */
export const failedTroubles = (failed: readonly FailedWork[]): KeptIncident[] =>
  failed.map(({ what, since, message, advice }) =>
    foundIncident({
      kind: 'failed',
      since,
      cause: what,
      message: oneLine(message),
      advice: advice || usualAdvice,
    }),
  )

/** Problems of a whole run that don't affect what it can request. */
const passing: ReadonlySet<string | null> = new Set(['killed', 'snapshot', 'report', 'then'])

/** Whether the last run found a problem that stops every run. */
export const stopsEverything = (incident: KeptIncident): boolean =>
  isOfWhole(incident) && !passing.has(incident.cause)

/**
 * What follows from a problem of the whole run and isn't an incident of its own. `all`: nothing could be requested at
 * all. `grants`: cursors of tenants that are missing from the authorizations.
 */
export function swallowedBy(
  { cause }: Pick<KeptIncident, 'cause'>,
  { error }: { readonly error?: unknown },
): 'all' | 'grants' | 'nothing' {
  if (passing.has(cause)) return 'nothing'
  if (error !== undefined || cause === 'no_grants') return 'all'
  return cause === 'grants_incomplete' ? 'grants' : 'nothing'
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ')

/*
 * The job files there are, with when each is due, how it last ended, and which address it calls. Used by the command
 * `jobs`, and by the test of alerts.
 */

import { describeError, Retry, Skip, Stop } from '../../engine/base/errors.js'
import { nextInstants } from '../../engine/config/cron.js'
import type { Secret } from '../../engine/config/secret.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import { withContext } from '../../shell/commandcontext.js'
import { jobFile, jobNames, readJob } from './jobfile.js'
import { aroundJobs, jobFolders } from './jobfolders.js'
import { type LastOfJob, lastOfJobs } from './lastofjobs.js'
import { scheduleSettings } from './settings.js'
import type { JobFile } from './words.js'

/** How many of the next instants of a schedule are told. */
const instantsTold = 5

interface JobHeartbeats {
  readonly heartbeats: { readonly job: string; readonly address: Secret }[]
  /** Files that are wrong: nobody knows whom they would call. */
  readonly broken: { readonly name: string; readonly error: unknown }[]
}

/** The heartbeats that jobs have of their own. */
export async function jobHeartbeats({ invocation, config }: CommandContext): Promise<JobHeartbeats> {
  const folders = jobFolders(invocation.io)
  const around = await aroundJobs(invocation, config.api.allowInsecure)
  const found: JobHeartbeats = { heartbeats: [], broken: [] }
  for (const name of jobNames(folders)) {
    try {
      const { heartbeat } = readJob(name, folders, around)
      if (heartbeat !== undefined) found.heartbeats.push({ job: name, address: heartbeat })
    } catch (error) {
      found.broken.push({ name, error })
    }
  }
  return found
}

interface Known {
  readonly timeZone: string
  readonly allowInsecure: boolean
  readonly last: ReadonlyMap<string, LastOfJob>
}

/** The files of all jobs, or of the one that is named. */
export async function jobFiles(invocation: Invocation, name: string | undefined): Promise<JobFile[]> {
  const folders = jobFolders(invocation.io)
  const names = name === undefined ? jobNames(folders) : [name]
  const { timeZone, last, allowInsecure } = await knownOf(invocation, names)
  const around = await aroundJobs(invocation, allowInsecure)
  return names.map((one): JobFile => {
    const file = jobFile(one, folders)
    const ran = last.get(one) ?? null
    try {
      const job = readJob(one, folders, around)
      const next =
        job.schedule === undefined ? [] : nextInstants(job.schedule, timeZone, new Date(), instantsTold)
      return { name: one, file: file ?? '', job, problem: null, next, last: ran }
    } catch (error) {
      // A name that no file has is wrong usage; a file that is wrong is the answer.
      if (file === undefined || !(error instanceof Stop)) throw error
      return { name: one, file, job: null, problem: describeError(error), next: [], last: ran }
    }
  })
}

const nothing: Known = { timeZone: 'UTC', allowInsecure: false, last: new Map() }

/** What the configuration and the warehouse know; nothing where there is none yet: the files can be read without. */
async function knownOf(invocation: Invocation, names: readonly string[]): Promise<Known> {
  let known = nothing
  try {
    await withContext(invocation, async (context) => {
      const { api } = context.config
      const { timeZone } = scheduleSettings(context.config)
      known = { ...nothing, timeZone, allowInsecure: api.allowInsecure }
      known = { ...known, last: await lastOfJobs(await context.readingWarehouse(), names) }
    })
  } catch (error) {
    if (!(error instanceof Stop || error instanceof Skip || error instanceof Retry)) throw error
  }
  return known
}

/*
 * The job files there are, with when each is due, how it last ended, and which address it calls. Used by the command
 * `jobs`, and by the test of alerts.
 */

import { describeError, Retry, Skip, Stop } from '../../engine/base/errors.js'
import { nextInstants } from '../../engine/config/cron.js'
import type { Secret } from '../../engine/config/secret.js'
import { recordedOrder } from '../../engine/warehouse/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import { withContext } from '../../shell/commandcontext.js'
import { aroundJobs, type Job, jobFile, jobFolders, jobNames, readJob } from './jobfile.js'
import { scheduleSettings } from './settings.js'

/* How each job ended when it last ran, whoever started it. */

export interface LastOfJob {
  readonly run_id: string
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly status: string | null
}

/** A file in jobs/, as far as it can be read. */
export interface JobFile {
  readonly name: string
  readonly file: string
  readonly job: Job | null
  /** Why the file is not right; null where it is. */
  readonly problem: string | null
  /** The next instants at which it is due, canonical; empty where it has no schedule. */
  readonly next: readonly string[]
  /** How it last ended, whoever started it; null where it never ran, or no warehouse says so. */
  readonly last: LastOfJob | null
}

/** By the job's name; those that never ran are missing. */
export async function lastOfJobs(
  warehouse: Warehouse,
  names: readonly string[],
): Promise<Map<string, LastOfJob>> {
  const found = new Map<string, LastOfJob>()
  if (!(await warehouse.has('sync_runs'))) return found
  const order = await warehouse.read(recordedOrder)
  for (const name of names) {
    const row = await warehouse.read((db) =>
      db
        .selectFrom('sync_runs')
        .select(['run_id', 'started_at', 'finished_at', 'status'])
        .where('job', '=', name)
        .orderBy(order, 'desc')
        .orderBy('started_at', 'desc')
        .limit(1)
        .executeTakeFirst(),
    )
    if (row) found.set(name, row)
  }
  return found
}

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

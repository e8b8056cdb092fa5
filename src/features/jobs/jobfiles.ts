/*
 * The existing job files, with when each is due, and how it last ended. Used by the command `jobs` and by
 * `check`.
 */

import { describeError, Retry, Skip, Stop } from '../../engine/base/errors.js'
import { nextInstants } from '../../engine/config/cron.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import { freshnessSettings } from '../../engine/config/targetsection.js'
import { readShardRuns } from '../../engine/run/lastrun.js'
import { lastRecorded, type RunRow } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext, Invocation } from '../../shell/command.js'
import { withContext } from '../../shell/commandcontext.js'
import { aroundJobs, type Job, jobFile, jobFolders, jobNames, readJob } from './jobfile.js'

/* How each job's last run ended, no matter what started it. */

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
  /** What is wrong with the file, or keeps its schedule from doing anything; null if nothing is. */
  readonly problem: string | null
  /** The next instants at which it is due, canonical; empty if it has no schedule. */
  readonly next: readonly string[]
  /** How its last run ended, no matter what started it; null if it never ran, or if there is no warehouse. */
  readonly last: LastOfJob | null
}

/** By job name; jobs that never ran are missing. */
export async function lastOfJobs(
  warehouse: Warehouse,
  names: readonly string[],
): Promise<Map<string, LastOfJob>> {
  const found = new Map<string, LastOfJob>()
  if (!(await warehouse.has('sync_runs'))) return found
  for (const name of names) {
    const row = await lastRecorded(warehouse, { job: name })
    if (row) found.set(name, await worstOfShards(warehouse, row))
  }
  return found
}

/** The run itself; of shards, the first whose last run was no good. */
async function worstOfShards(
  warehouse: Warehouse,
  { run_id, started_at, finished_at, status, job, mode, shard }: RunRow,
): Promise<LastOfJob> {
  const shards = await warehouse.read((db) => readShardRuns(db, { job, mode, shard }, []))
  const bad = shards.find((run) => run.status !== 'ok' && run.status !== 'running')
  const last = bad ?? { run_id, started_at, finished_at, status }
  return {
    run_id: last.run_id,
    started_at: last.started_at,
    finished_at: last.finished_at,
    status: last.status,
  }
}

/** How many of a schedule's next instants are shown. */
const instantsTold = 5

interface ReadJobs {
  readonly jobs: readonly Job[]
  /** Invalid files: it is unknown what they would do, or whom they would call. */
  readonly broken: readonly { readonly name: string; readonly error: unknown }[]
}

/** The files of all jobs, read with the configuration at hand. */
export async function readJobs({ invocation, config }: CommandContext): Promise<ReadJobs> {
  const folders = jobFolders(invocation)
  const around = await aroundJobs(invocation, config.api.allowInsecure)
  const jobs: Job[] = []
  const broken: ReadJobs['broken'][number][] = []
  for (const name of jobNames(folders)) {
    try {
      jobs.push(readJob(name, folders, around))
    } catch (error) {
      broken.push({ name, error })
    }
  }
  return { jobs, broken }
}

/** Whether a job's schedule would only ever start something that stops: due steps, without targets. */
const isDueInVain = ({ schedule, steps }: Job): boolean =>
  schedule !== undefined && steps.some(({ due }) => due)

export const dueInVain = {
  found: 'found a schedule and "due": true, but the configuration has no targets',
  hint: 'Add "targets": {"*": "PT6H"} to the configuration (docs/scale.md), or remove "due": true from the steps',
}

/** Jobs whose scheduled runs all stop, because nothing is due without targets. */
export const jobsDueInVain = ({ config }: Pick<CommandContext, 'config'>, jobs: readonly Job[]): string[] =>
  freshnessSettings(config) ? [] : jobs.filter(isDueInVain).map(({ name }) => name)

interface Known {
  /** false: the configuration has none. Without a configuration, nothing is known. */
  readonly hasTargets: boolean
  readonly timeZone: string
  readonly allowInsecure: boolean
  readonly last: ReadonlyMap<string, LastOfJob>
}

/** The files of all jobs, or of the named one. */
export async function jobFiles(invocation: Invocation, name: string | undefined): Promise<JobFile[]> {
  const folders = jobFolders(invocation)
  const names = name === undefined ? jobNames(folders) : [name]
  const { timeZone, last, allowInsecure, hasTargets } = await knownOf(invocation, names)
  const around = await aroundJobs(invocation, allowInsecure)
  return names.map((one): JobFile => {
    const file = jobFile(one, folders)
    const ran = last.get(one) ?? null
    try {
      const job = readJob(one, folders, around)
      const next =
        job.schedule === undefined ? [] : nextInstants(job.schedule, timeZone, new Date(), instantsTold)
      const problem = !hasTargets && isDueInVain(job) ? `${dueInVain.found}. ${dueInVain.hint}` : null
      return { name: one, file: file ?? '', job, problem, next, last: ran }
    } catch (error) {
      // A name without a file is a usage error; an invalid file is part of the answer.
      if (file === undefined || !(error instanceof Stop)) throw error
      return { name: one, file, job: null, problem: describeError(error), next: [], last: ran }
    }
  })
}

const nothing: Known = { hasTargets: true, timeZone: 'UTC', allowInsecure: false, last: new Map() }

/** There is no configuration yet, and nobody said that there is one. */
const hasNone = ({ globals, io }: Invocation, { cause }: Error): boolean =>
  cause instanceof Error &&
  'code' in cause &&
  cause.code === 'ENOENT' &&
  globals.config === undefined &&
  !io.environment.SHOPSYNC_CONFIG

/**
 * What the configuration and the warehouse know; nothing if there is none yet, since the files can be read without
 * them.
 */
async function knownOf(invocation: Invocation, names: readonly string[]): Promise<Known> {
  let known = nothing
  try {
    await withContext(invocation, async (context) => {
      const { api } = context.config
      const { timeZone } = scheduleSettings(context.config)
      const hasTargets = freshnessSettings(context.config) !== undefined
      known = { ...nothing, hasTargets, timeZone, allowInsecure: api.allowInsecure }
      known = { ...known, last: await lastOfJobs(await context.open('read'), names) }
    })
  } catch (error) {
    if (!(error instanceof Stop || error instanceof Skip || error instanceof Retry)) throw error
    // The files can be read with a wrong configuration too, but the instants may be wrong: its time zone is unknown.
    if (known === nothing && !hasNone(invocation, error))
      invocation.out.note(`shopsync: ${describeError(error)}\nThe jobs are shown without it, in UTC`)
  }
  return known
}

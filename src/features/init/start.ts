/* How the program is started on this machine, for what is configured here. */
import { readFileSync, realpathSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Config } from '../../engine/config/config.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import type { Invocation } from '../../shell/command.js'
import { loadConfiguration } from '../../shell/configuration.js'
import { packageFolder } from '../../shell/package.js'
import { metricsSettings } from '../health/metricssettings.js'
import { aroundJobs, jobFile, jobFolders, jobNames, readJob } from '../jobs/jobfile.js'

/** How the program is started on this machine. */
export interface Start {
  readonly node: string
  readonly program: string
  /** The configuration's folder. */
  readonly folder: string
  readonly api: Pick<Config['api'], 'baseUrl' | 'partnerId'>
  readonly user: string
  /** In the form a container uses: user and group numbers. */
  readonly ids: string
  /** Folders outside `folder` that runs write to. */
  readonly written: readonly string[]
  /** The configuration's name, if commands don't find it by themselves. */
  readonly config: string | undefined
  /** The jobs that have a schedule, and the files of those that don't come with the program. */
  readonly jobs: readonly { readonly name: string; readonly schedule: string }[]
  readonly ownJobs: readonly { readonly name: string; readonly text: string }[]
  readonly timeZone: string
  /** Into how many shards jobs are divided for workers; 0: none. */
  readonly shards: number
  /** Whether the source's events are to be received. */
  readonly hears: boolean
}

export async function startOf(invocation: Invocation): Promise<Start> {
  const { io } = invocation
  const { config, written } = await loadConfiguration(invocation)
  const { folder, file = 'config.json' } = config
  // A container may run as a user without a name.
  const uid = process.getuid?.() ?? 0
  const gid = process.getgid?.() ?? 0
  const url = config.warehouse.url.reveal()
  const { textfile } = metricsSettings(config)
  const files = [
    ...(url.startsWith('sqlite:') ? [url.slice('sqlite:'.length)] : []),
    ...(textfile === undefined ? [] : [textfile]),
  ]
  const outside = files
    .map((path) => dirname(resolve(folder, path)))
    .filter((place) => relative(folder, place).startsWith('..'))
  const folders = jobFolders(invocation)
  const around = await aroundJobs(invocation, config.api.allowInsecure)
  const jobs = jobNames(folders).flatMap((job) => {
    const { schedule } = readJob(job, folders, around)
    return schedule === undefined ? [] : [{ name: job, schedule }]
  })
  const shipped = join(packageFolder(), 'jobs')
  const { timeZone, shards, events } = scheduleSettings(config)
  return {
    node: io.started.node,
    program: realpathSync(io.started.program),
    folder,
    api: config.api,
    user: nameOfUser() ?? String(uid),
    ids: `${uid}:${gid}`,
    written: [...new Set(outside)],
    config: basename(file) === 'config.json' ? undefined : basename(file),
    jobs,
    ownJobs: jobs.flatMap(({ name: job }) => {
      const path = jobFile(job, folders) ?? ''
      return dirname(path) === shipped ? [] : [{ name: job, text: readFileSync(path, 'utf8') }]
    }),
    timeZone,
    shards,
    hears: events || written.has('events'),
  }
}

function nameOfUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

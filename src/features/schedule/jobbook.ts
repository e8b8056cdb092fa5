/*
 * The job files of `shopsync schedule`, read again when one of them changes. A file that breaks while the program is
 * running does no harm: the job continues as it was, and the mistake is reported once. Used by scheduler.ts.
 */
import { statSync } from 'node:fs'
import { describeError, Stop } from '../../engine/base/errors.js'
import { type Job, type JobSurroundings, jobFile, jobNames, readJob } from '../jobs/jobfile.js'

export type ScheduledJob = Job & { readonly schedule: string }

const isScheduled = (job: Job): job is ScheduledJob => job.schedule !== undefined

interface Entry {
  /** Which file it is, and which version of it. */
  readonly version: string
  /** The job when the file was last valid; undefined if it never was. */
  readonly job: Job | undefined
}

export class JobBook {
  #entries = new Map<string, Entry>()

  constructor(
    private readonly folders: readonly string[],
    private readonly around: JobSurroundings,
  ) {}

  /**
   * Reads all files. Throws Stop if one is invalid or none has a schedule: at the start, someone is there to see it.
   */
  open(): ScheduledJob[] {
    const jobs = this.look((error) => {
      throw error
    })
    if (jobs.length > 0) return jobs
    throw new Stop(`Found no job with a schedule in ${this.folders.join(' or ')}, expected at least one`, {
      exitCode: 2,
      hint: 'Write "schedule": "0 * * * *" into jobs/NAME.json, and type shopsync jobs list',
    })
  }

  /** The scheduled jobs, as their files are now. `broken` is called once for each invalid version of a file. */
  look(broken: (error: Stop, name: string) => void): ScheduledJob[] {
    const before = this.#entries
    this.#entries = new Map()
    for (const name of jobNames(this.folders)) {
      const version = this.#versionOf(name)
      const known = before.get(name)
      const entry = known?.version === version ? known : this.#read(name, version, known?.job, broken)
      this.#entries.set(name, entry)
    }
    return [...this.#entries.values()].flatMap(({ job }) => (job && isScheduled(job) ? [job] : []))
  }

  #versionOf(name: string): string {
    const file = jobFile(name, this.folders) ?? ''
    const { mtimeMs, size, ino } = statSync(file, { throwIfNoEntry: false }) ?? {}
    return [file, mtimeMs, size, ino].join(' ')
  }

  #read(
    name: string,
    version: string,
    before: Job | undefined,
    broken: (error: Stop, name: string) => void,
  ): Entry {
    try {
      return { version, job: readJob(name, this.folders, this.around) }
    } catch (error) {
      broken(classed(error, name), name)
      return { version, job: before }
    }
  }
}

/** A file that disappeared or became unreadable between two checks of the folder. */
const classed = (error: unknown, name: string): Stop =>
  error instanceof Stop
    ? error
    : new Stop(`The job ${name} could not be read: ${describeError(error)}`, { exitCode: 2, cause: error })

import { describeError, Stop } from '../../errors.js'
import type { Command } from '../command.js'
import type { JobFile } from '../text/jobs.js'

const actions = ['list', 'show', 'validate'] as const

export const jobsCommand: Command = {
  name: 'jobs',
  summary: 'the jobs there are, when they are due next, whether their files are right',
  help: `
  shopsync jobs list               every job: those in jobs/ of the working directory, then the shipped ones
  shopsync jobs show nightly       its steps, and the next instants of its schedule
  shopsync jobs validate [NAME]    reads the files as a run would; exits with 1 when one is wrong`,
  argument: { name: 'action', description: 'list, show or validate' },
  second: { name: 'name', description: 'name of a job', isOptional: true },
  run: async ({ argument = '', second, out }) => {
    const action = actions.find((name) => name === argument)
    if (action === undefined)
      throw new Stop(`Found jobs ${argument}, expected ${actions.join(', ')}`, {
        exitCode: 2,
        hint: 'Type shopsync jobs list',
      })
    if (action === 'show' && second === undefined)
      throw new Stop('Found no name, expected that of a job', {
        exitCode: 2,
        hint: 'Type shopsync jobs list to see their names, then shopsync jobs show NAME',
      })
    const files = await readFiles(second)
    const { jobsText, jobText, validText } = await import('../text/jobs.js')
    const text = {
      list: jobsText,
      show: (all: readonly JobFile[]) => all.map(jobText).join('\n\n'),
      validate: validText,
    }
    await out.answer({ jobs: files }, text[action](files))
    return action !== 'list' && files.some(({ problem }) => problem !== null) ? 1 : 0
  },
}

/** The files of all jobs, or of the one that is named. */
async function readFiles(name: string | undefined): Promise<JobFile[]> {
  const [{ jobNames, readJob, jobFile }, { nextInstants }, { packageFolder }, { join }] = await Promise.all([
    import('../../config/job.js'),
    import('../../config/cron.js'),
    import('../package.js'),
    import('node:path'),
  ])
  const folders = [...new Set([process.cwd(), packageFolder()].map((folder) => join(folder, 'jobs')))]
  const names = jobNames(folders)
  return (name === undefined ? names : [name]).map((one): JobFile => {
    const file = jobFile(one, folders)
    try {
      const job = readJob(one, folders)
      const next = job.schedule === undefined ? [] : nextInstants(job.schedule, new Date(), 5)
      return { name: one, file: file ?? '', job, problem: null, next }
    } catch (error) {
      // A name that no file has is wrong usage; a file that is wrong is the answer.
      if (file === undefined || !(error instanceof Stop)) throw error
      return { name: one, file, job: null, problem: describeError(error), next: [] }
    }
  })
}

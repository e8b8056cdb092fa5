import { type Command, timeLimitOption } from '../../shell/command.js'

export const runCommand: Command = {
  name: 'run',
  summary: 'run the job jobs/JOB.json: the command for cron',
  help: `
Looks for the file in jobs/ below the working directory, then among the jobs that come with shopsync (hourly, nightly,
weekly-verify, backfill, due). schema/job.schema.json describes its settings. Its "schedule" tells shopsync schedule when
it is due; cron needs a line of its own.`,
  examples: [
    ['shopsync run hourly', 'what is new'],
    ['shopsync run nightly --time-limit PT4H', 'stops cleanly after four hours; the next run continues'],
    ['0 * * * *  cd /srv/shopsync && shopsync run hourly --quiet', 'a line of a crontab'],
  ],
  argument: { name: 'job', description: 'name of the job, such as hourly', names: 'jobs' },
  options: [timeLimitOption],
  run: async (invocation) => {
    const [{ withContext }, { carryOutJob }, { readJob }, { aroundJobs, jobFolders }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./jobfile.js'),
      import('./jobfile.js'),
    ])
    return withContext(invocation, async (context) => {
      const around = await aroundJobs(invocation, context.config.api.allowInsecure)
      const folders = jobFolders(invocation.io)
      const job = readJob(invocation.argument ?? '', folders, around)
      return carryOutJob(context, job)
    })
  },
}

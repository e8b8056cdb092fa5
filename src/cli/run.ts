import type { RunReport } from '../sync/report.js'
import type { Command, Invocation } from './command.js'
import { packageFolder } from './package.js'

export const run: Command = {
  name: 'run',
  summary: 'run the job jobs/JOB.json: what cron calls',
  help: `
The file is looked for in jobs/ below the working directory, then among the jobs that come with shopsync (hourly,
nightly). Its settings are described in schema/job.schema.json. Its "schedule" says when it is due; cron has to be told:

  0 * * * *  cd /srv/shopsync && shopsync run hourly --quiet`,
  argument: { name: 'job', description: 'name of the job, such as hourly' },
  run: async (invocation) => {
    const { runSummary, joinReports } = await import('../report/summary.js')
    const { out, signals } = invocation
    const reports = await runSteps(invocation, (report) => out.print(runSummary(report)))
    const whole = joinReports(reports)
    if (out.json && whole && !signals.signal.aborted) await out.document(whole)
    return whole?.status === 'ok' ? 0 : 1
  },
}

async function runSteps(invocation: Invocation, done: (report: RunReport) => void): Promise<RunReport[]> {
  const [{ withContext }, { execute }, { chooseFrom }, { readJob }, { join }] = await Promise.all([
    import('./context.js'),
    import('./execute.js'),
    import('./choice.js'),
    import('../config/job.js'),
    import('node:path'),
  ])
  const folders = [process.cwd(), packageFolder()].map((folder) => join(folder, 'jobs'))
  const job = readJob(invocation.argument ?? '', [...new Set(folders)])
  return withContext(invocation, async (context) => {
    // All steps are checked before the first of them writes anything.
    const requests = job.steps.map((step) => ({
      mode: step.full && step.command === 'sync' ? ('full' as const) : step.command,
      full: step.full,
      job: job.name,
      ...chooseFrom(context.config, step),
    }))
    const reports: RunReport[] = []
    for (const request of requests) {
      const report = await execute(context, request)
      if (invocation.signals.signal.aborted) break
      reports.push(report)
      done(report)
    }
    return reports
  })
}

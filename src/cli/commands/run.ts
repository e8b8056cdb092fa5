import type { RunReport } from '../../sync/run/report.js'
import type { Command, Invocation } from '../command.js'
import { packageFolder } from '../package.js'

export const runCommand: Command = {
  name: 'run',
  summary: 'run the job jobs/JOB.json: the command for cron',
  help: `
The file is looked for in jobs/ below the working directory, then among the jobs that come with shopsync (hourly,
nightly, weekly-verify, backfill). Its settings are described in schema/job.schema.json. Its "schedule" says when it is
due; cron has to be told:

  0 * * * *  cd /srv/shopsync && shopsync run hourly --quiet`,
  argument: { name: 'job', description: 'name of the job, such as hourly' },
  run: async (invocation) => {
    const [{ withContext }, { joinReports, prepareStep }, { readJob }, { join }] = await Promise.all([
      import('../context.js'),
      import('../jobstep.js'),
      import('../../config/job.js'),
      import('node:path'),
    ])
    const folders = [process.cwd(), packageFolder()].map((folder) => join(folder, 'jobs'))
    const job = readJob(invocation.argument ?? '', [...new Set(folders)])
    return withContext(invocation, async (context) => {
      // All steps are checked before the first of them writes anything.
      const whole = joinReports(
        await carryOut(
          invocation,
          job.steps.map((step) => prepareStep(context, job, step)),
        ),
      )
      const { out, signals } = invocation
      if (out.json && whole && !signals.signal.aborted) await out.document(whole)
      return whole?.status === 'ok' ? 0 : 1
    })
  },
}

type PreparedStep = () => Promise<{ readonly report: RunReport; readonly text: string }>

async function carryOut({ out, signals }: Invocation, steps: readonly PreparedStep[]): Promise<RunReport[]> {
  const reports: RunReport[] = []
  for (const step of steps) {
    const { report, text } = await step()
    if (signals.signal.aborted) break
    reports.push(report)
    out.print(text)
  }
  return reports
}

import type { Job } from '../../config/job.js'
import { Stop } from '../../errors.js'
import type { RunReport } from '../../sync/run/report.js'
import type { Command, Invocation } from '../command.js'
import type { CommandContext } from '../context.js'
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
      const { out, signals } = invocation
      // All steps are checked before the first of them writes anything.
      const steps = job.steps.map((step) => prepareStep(context, job, step))
      const reports = await carryOut(invocation, steps).catch(async (error: unknown) => {
        if (isLocked(error)) out.complain(await lockTroubles(context, job))
        throw error
      })
      const whole = await countedOnce(context, joinReports(reports))
      if (out.json && whole && !signals.signal.aborted) await out.document(whole)
      return whole?.status === 'ok' ? 0 : 1
    })
  },
}

/** A value that several steps have met is in quarantine once. */
async function countedOnce(
  context: CommandContext,
  whole: RunReport | undefined,
): Promise<RunReport | undefined> {
  if (whole === undefined || whole.quarantined === 0) return whole
  const { quarantinedSince } = await import('../../warehouse/quarantine.js')
  const counts = await quarantinedSince(await context.readingWarehouse(), whole.started_at)
  const met = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return { ...whole, quarantined: Math.min(whole.quarantined, met) }
}

const isLocked = (error: unknown): boolean => error instanceof Stop && error.exitCode === 4

/** A job that waits its turn needs nobody; one whose turn never comes does. */
async function lockTroubles(context: CommandContext, { name, schedule }: Job): Promise<string[]> {
  if (schedule === undefined) return []
  const [{ lockHolder }, { isTwoIntervalsAgo }, { toMicros }] = await Promise.all([
    import('../../warehouse/lease.js'),
    import('../../config/cron.js'),
    import('../../timestamp.js'),
  ])
  const holder = await lockHolder(await context.readingWarehouse())
  if (!holder?.claimed_at) return []
  const since = Number(toMicros(holder.claimed_at) / 1000n)
  if (!isTwoIntervalsAgo(schedule, since, Number(context.clock.nowMicros() / 1000n))) return []
  return [
    `${name}: another run (${holder.command ?? 'unknown'}) has held the lock since ${holder.claimed_at}, longer than two intervals of this job, on ${holder.host}, pid ${holder.pid}`,
  ]
}

type PreparedStep = () => Promise<{ readonly report: RunReport; readonly text: string }>

async function carryOut({ out, signals }: Invocation, steps: readonly PreparedStep[]): Promise<RunReport[]> {
  const { runTroubles } = await import('../text/troubles.js')
  const reports: RunReport[] = []
  for (const step of steps) {
    const { report, text } = await step()
    if (signals.signal.aborted) break
    reports.push(report)
    out.print(text)
    out.complain(runTroubles(report))
  }
  return reports
}

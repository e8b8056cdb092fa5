/* `shopsync schedule`: the jobs, the server next to them, and their end. Used by the command. */
import { nextInstants } from '../../engine/config/cron.js'
import { scheduleSettings } from '../../engine/config/schedulesection.js'
import { isSuperseded } from '../../engine/warehouse/lease/oneconfiguration.js'
import { isAnyCursor } from '../../engine/warehouse/state/cursors.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { lastKnown } from '../../shell/intime.js'
import { ReplacementWatch } from '../../shell/replaced.js'
import type { ListeningServer } from '../../shell/statusserver.js'
import type { Opening } from '../../shell/stayup.js'
import { describeModel } from '../dictionary/describe.js'
import { toHtml } from '../dictionary/page/dictionarypage.js'
import { Hearing } from '../events/hearing.js'
import { eventSettings } from '../events/settings.js'
import { openIncidents } from '../health/openincidents.js'
import { watchedBy } from '../health/watched.js'
import { aroundJobs, jobFolders } from '../jobs/jobfile.js'
import { runWithin } from '../jobs/within.js'
import { runsPage } from '../report/page/runspage.js'
import { readRuns } from '../runs/work.js'
import { type Served, serve } from './http.js'
import { JobBook, type ScheduledJob } from './jobbook.js'
import { SchedulerMark } from './otherscheduler.js'
import type { PageCall } from './page.js'
import { PageMaker } from './pagemaker.js'
import { Schedule } from './scheduler.js'
import { Rounds } from './sentrounds.js'
import { endedText, nextRuns, scheduleText } from './words.js'

/** Runs that `GET /runs` and `GET /runs.json` show. */
const runsTold = 50

/** Runs until a signal comes. */
export async function runJobs(context: CommandContext, opening: Opening): Promise<number> {
  const { invocation, config, clock, log } = context
  const { signals, out } = invocation
  const book = new JobBook(jobFolders(invocation), await aroundJobs(invocation, config.api.allowInsecure))
  const jobs = book.open()
  signals.expected = true
  const warehouse = await opening.warehouse()
  const { timeZone, listen, events, shards } = scheduleSettings(config)
  const first = (await isAnyCursor(warehouse)) ? undefined : firstJob(jobs, timeZone, clock.nowMicros())
  let hearing: Hearing | undefined
  const aside = <T>(work: () => Promise<T>): Promise<T> => (hearing ? hearing.aside(work) : work())
  const watch = new ReplacementWatch(warehouse, clock, signals.signal)
  const superseded = (error: Error): void => watch.superseded(error)
  let rounds: Rounds | undefined
  const schedule = new Schedule({
    warehouse,
    clock,
    timeZone,
    book,
    log,
    first,
    signal: watch.signal,
    // A job opens the warehouse for itself, and would make one of an empty file.
    run: async (job, plannedAt) =>
      (await watch.isReplaced()) ? 1 : aside(() => runDueJob(context, { ...job, plannedAt }, watch)),
    send: shards === 0 ? undefined : async (job, at) => (await rounds?.send(job, at)) === true,
    ended: (job) => {
      if (out.isRead) out.print(endedText(job))
    },
  })
  const pages = pageMakers(context)
  const answers = served(context, { schedule, pages, warehouse, watch })
  const mark = await SchedulerMark.set(warehouse)
  if (mark.other !== undefined) log.warn({}, mark.other)
  const at = listen && { ...listen, port: opening.port('report', listen.port) }
  const server = at ? await serve(at, answers).catch((error) => mark.giveUp(error)) : undefined
  try {
    if (events) {
      const settings = eventSettings(config)
      const port = opening.port('events', settings.port)
      hearing = await Hearing.open(context, warehouse, {
        settings: { ...settings, port },
        rings: true,
        superseded,
      })
    }
    rounds = await Rounds.open(context, {
      warehouse,
      signal: watch.signal,
      ended: superseded,
      around: aside,
    })
    const planned = nextRuns(jobs, timeZone, { nowMicros: clock.nowMicros(), first })
    const place = { url: server?.url ?? null, events_url: hearing?.url ?? null }
    const start = { pid: process.pid, time_zone: timeZone, ...place, jobs: planned }
    await opening.isUp(start, scheduleText(start), { report: server?.url, events: hearing?.url })
    await schedule.run(jobs)
    await watch.throwIfReplaced()
  } finally {
    watch.close()
    await rounds?.close()
    await hearing?.close()
    await ended(server, pages)
    await mark.remove()
  }
  return 0
}

/**
 * The job that fills an empty warehouse: someone who starts the program for the first time wants to see it work, and
 * not in an hour.
 */
function firstJob(jobs: readonly ScheduledJob[], timeZone: string, nowMicros: bigint): string | undefined {
  const now = new Date(Number(nowMicros / 1000n))
  const filling = jobs.filter(({ steps }) => steps.some(({ command }) => command === 'sync'))
  const due = filling.map(({ name, schedule }) => {
    const [at = '9999'] = nextInstants(schedule, timeZone, now, 1)
    return { name, at }
  })
  return due.sort((a, b) => (a.at < b.at ? -1 : 1))[0]?.name
}

type Pages = Readonly<Record<PageCall['page'], PageMaker>>

function pageMakers({ invocation: { globals, out, io }, clock }: CommandContext): Pages {
  const { workingDirectory, started } = io
  const call = { globals, io: { environment: { ...io.environment }, workingDirectory, started } }
  const maker = (page: PageCall['page']): PageMaker =>
    new PageMaker({ page, ...call }, clock, (error) => out.survive(error))
  return { report: maker('report'), operations: maker('operations') }
}

async function ended(server: ListeningServer | undefined, pages: Pages): Promise<void> {
  await pages.report.close()
  await pages.operations.close()
  await server?.close()
}

/** Runs one job, and returns its exit code; undefined if the work of its instant was done before. */
async function runDueJob(
  context: CommandContext,
  job: ScheduledJob & { readonly plannedAt: string | undefined },
  watch: ReplacementWatch,
): Promise<number | undefined> {
  const { exitCode, error } = await runWithin(context, job)
  // The job has done nothing, and is made up for with the configuration as it is now.
  if (isSuperseded(error)) watch.superseded(error)
  return exitCode
}

function served(
  context: CommandContext,
  {
    schedule,
    pages,
    warehouse,
    watch,
  }: {
    readonly schedule: Schedule
    readonly pages: Pages
    readonly warehouse: Writer
    readonly watch: ReplacementWatch
  },
): Served {
  const { clock } = context
  const readLastRuns = () =>
    readRuns({
      warehouse,
      last: runsTold,
      onlyFailed: false,
      tenants: null,
      resources: null,
      nowMicros: clock.nowMicros(),
    })
  const reach = (): Promise<unknown> => warehouse.read((db) => openIncidents(warehouse, db))
  let drawn: string | undefined
  const dictionary = (): string => {
    drawn ??= toHtml(
      describeModel(
        context.model.list.map(({ resource }) => resource),
        context.model.state,
      ),
    )
    return drawn
  }
  return {
    ...watchedBy(context, {
      warehouse,
      signal: watch.signal,
      ready: () => ({ running: schedule.running, jobs: schedule.rows }),
    }),
    pages: {
      '/': lastKnown(() => pages.report.page(), reach),
      '/operations': lastKnown(() => pages.operations.page(), reach),
      '/runs': lastKnown(async () => runsPage(await readLastRuns(), clock.nowMicros()), reach),
      '/dictionary': async () => ({ value: dictionary() }),
    },
    runs: lastKnown(async () => ({ runs: await readLastRuns() }), reach),
  }
}

import { atSecond, plural } from '../../engine/base/format.js'
import { nextInstants } from '../../engine/config/cron.js'
import type { EndedJob } from './scheduler.js'

/** When jobs run next; null: never again. `first`: the job that starts at once, because the warehouse is empty. */
export function nextRuns(
  jobs: readonly { readonly name: string; readonly schedule: string }[],
  timeZone: string,
  { nowMicros, first }: { readonly nowMicros: bigint; readonly first: string | undefined },
) {
  const now = new Date(Number(nowMicros / 1000n))
  return jobs.map(({ name, schedule }) => {
    const [next_at = null] = nextInstants(schedule, timeZone, now, 1)
    return { name, schedule, next_at, starts_now: name === first }
  })
}

/** What `shopsync schedule` prints when it starts; with --json as a document. */
export function scheduleText({
  time_zone,
  url,
  events_url,
  jobs,
}: {
  readonly time_zone: string
  /** null: no server. */
  readonly url: string | null
  /** Where events are received; null: they aren't. */
  readonly events_url: string | null
  readonly jobs: ReturnType<typeof nextRuns>
}): string {
  const lines = jobs.map(({ name, schedule, next_at, starts_now }) => {
    const begins = starts_now ? ', now, because the warehouse is empty' : ''
    return `  ${name}: ${schedule}${begins}${next_at === null ? '' : `, next ${atSecond(next_at)}`}`
  })
  const where =
    url === null
      ? 'No server is listening.'
      : `Report, /operations, /runs, /metrics, /ready and /health: ${url}`
  const heard = events_url === null ? [] : [`Events: ${events_url}`]
  return [`${plural(jobs.length, 'job')}, in ${time_zone}:`, ...lines, where, ...heard].join('\n')
}

/** For someone watching: how a job ended, and what comes next. */
export function endedText({ job, exitCode, next }: EndedJob): string {
  const comes = next === undefined ? 'Nothing else is planned' : `Next: ${next.job}, ${atSecond(next.at)}`
  return `${job} ended with exit code ${exitCode}. ${comes}`
}

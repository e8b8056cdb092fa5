import { atSecond, plural } from '../../engine/base/format.js'
import { nextInstants } from '../../engine/config/cron.js'
import type { EndedJob } from './scheduler.js'

interface Due {
  readonly name: string
  readonly schedule: string
}

interface Around {
  readonly url: string | undefined
  /** Where events are received. */
  readonly events?: string | undefined
  readonly nowMicros: bigint
  /** The job that starts at once because the warehouse is empty. */
  readonly first: string | undefined
}

/** What `shopsync schedule` prints when it starts. */
export function scheduleText(
  jobs: readonly Due[],
  timeZone: string,
  { url, events, nowMicros, first }: Around,
): string {
  const now = new Date(Number(nowMicros / 1000n))
  const lines = jobs.map(({ name, schedule }) => {
    const [next] = nextInstants(schedule, timeZone, now, 1)
    const begins = name === first ? ', now, because the warehouse is empty' : ''
    return `  ${name}: ${schedule}${begins}${next === undefined ? '' : `, next ${atSecond(next)}`}`
  })
  const where =
    url === undefined
      ? 'No server is listening.'
      : `Report, /operations, /runs, /metrics, /ready and /health: ${url}`
  const heard = events === undefined ? [] : [`Events: ${events}`]
  return [`${plural(jobs.length, 'job')}, in ${timeZone}:`, ...lines, where, ...heard].join('\n')
}

/** For someone watching: how a job ended, and what comes next. */
export function endedText({ job, exitCode, next }: EndedJob): string {
  const comes = next === undefined ? 'Nothing else is planned' : `Next: ${next.job}, ${atSecond(next.at)}`
  return `${job} ended with exit code ${exitCode}. ${comes}`
}

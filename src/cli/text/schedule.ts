import { nextInstants } from '../../config/cron.js'
import { atSecond, plural } from '../../format.js'

interface Due {
  readonly name: string
  readonly schedule: string
}

/** What `shopsync schedule` says when it begins. */
export function scheduleText(
  jobs: readonly Due[],
  timeZone: string,
  url: string | undefined,
  nowMicros: bigint,
): string {
  const now = new Date(Number(nowMicros / 1000n))
  const lines = jobs.map(({ name, schedule }) => {
    const [next] = nextInstants(schedule, timeZone, now, 1)
    return `  ${name}: ${schedule}${next === undefined ? '' : `, next ${atSecond(next)}`}`
  })
  const where =
    url === undefined ? 'No server listens.' : `Report, /runs, /metrics, /ready and /health: ${url}`
  return [`${plural(jobs.length, 'job')}, in ${timeZone}:`, ...lines, where].join('\n')
}

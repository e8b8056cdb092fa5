/** What a policy makes of a played day: the shops work, the job is begun as cron would, and a day of it is measured. */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { parseDuration } from '../../../src/engine/config/duration.js'
import { delaysSince } from '../../../src/features/targets/sql.js'
import { type Kind, rowsOf } from '../harness/warehouse.js'
import { compare, expected } from '../oracle/cells.js'
import { type Change, shareWithin } from './arrivals.js'
import { PlayedDay, type PlayedOptions, type PlayedRun } from './playedday.js'

const hour = 3_600_000

const settingsLists = ['categories', 'canned_jobs', 'shops', 'staffs', 'statuses', 'vendors']

/** From 15 minutes to a day. */
export const playedTargets: Readonly<Record<string, string>> = {
  repair_orders: 'PT15M',
  appointments: 'PT30M',
  payments: 'PT1H',
  customers: 'PT1H',
  notes: 'PT1H',
  vehicles: 'PT1H',
  '*': 'PT6H',
  ...Object.fromEntries(settingsLists.map((name) => [name, 'PT24H'])),
}

export interface PlayedPolicy extends PlayedOptions {
  readonly job: 'due' | 'hourly'
  /** Minutes from one beginning of the job to the next. */
  readonly every: number
  readonly targets: Readonly<Record<string, string>>
  /** Whether events come once the policy begins. */
  readonly hears?: boolean
  /** Requests an hour. */
  readonly limit: number
  /** Hours of hourly polling, of the policy's beginning, and those that are measured. */
  readonly hours: readonly [learning: number, beginning: number, measured: number]
}

/** What docs/freshness.md tells of the policy. Shares are from 0 to 1. */
export type PlayedFigures = Awaited<ReturnType<typeof playPolicy>>

const rounded = (value: number): number => Math.round(value * 1000) / 1000
const sumOf = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0)

export async function playPolicy(kind: Kind, policy: PlayedPolicy) {
  const { job, every, limit, targets } = policy
  const [learning, beginning, measured] = policy.hours
  const day = await PlayedDay.open(kind, policy)
  try {
    // The window that the first load has spent is over. Runs may outlast the hours in which they begin.
    await day.passTo(Math.ceil(day.clock.now / hour) * hour)
    day.work(learning + beginning + measured + 8)
    const from = day.clock.now + (learning + beginning) * hour
    const to = from + measured * hour
    const left = (until: number): number => Math.max(0, until - day.clock.now) / hour
    day.rate.limit = limit
    const codes = new Set<number | null>()
    const ended = ({ code }: PlayedRun): void => void codes.add(code)
    await day.repeat('hourly', 60, learning, ended)
    if (policy.hears) await day.listen()
    await day.repeat(job, every, left(from), ended)
    /** The share of `proven` lists, each hour. */
    const proven: number[] = []
    let seenTo = 0
    await day.repeat(job, every, left(to), async ({ code }, at) => {
      codes.add(code)
      if (at < seenTo + hour) return
      seenTo = at
      const cursors = await rowsOf(day.warehouse, 'sync_cursors')
      const isProven = cursors.filter((one) => one.status === 'ok' && one.completeness === 'proven')
      proven.push(isProven.length / day.lists)
    })
    const told = await delaysSince(day.warehouse, fromMicros(BigInt(Math.round(from)) * 1000n))
    const met = sumOf(told.map((one) => one.met))
    const targetOf = (resource: string): number => parseDuration(targets[resource] ?? targets['*'] ?? '') ?? 0
    const within = (some: readonly Change[]): number => rounded(shareWithin(some, targetOf, to))
    const changes = day.watch.changes(from, to)
    const nameOf = (resource: string): string => (Object.hasOwn(targets, resource) ? resource : '*')
    return {
      /** Of all changes, by the source and the rows. */
      within: within(changes),
      /** Of those that arrived meanwhile and that a poll can have seen: no later change of the record came with them. */
      withinSeen: within(day.watch.arrivals(from, day.clock.now)),
      /** The same, as `sync_delays` has it. */
      told: rounded(met / (met + sumOf(told.map((one) => one.missed)))),
      /** In minutes. What is not there yet counts with the time that it has waited. */
      meanDelay: Math.round(
        sumOf(changes.map(({ at, delay }) => delay ?? to - at)) / Math.max(1, changes.length) / 60_000,
      ),
      requests: day.watch.requests(from, to),
      proven: rounded(sumOf(proven) / proven.length),
      /** In hours. */
      longestWait: Math.round((day.watch.longestWait(from, to) / hour) * 10) / 10,
      exitCodes: [...codes],
      byTarget: Object.fromEntries(
        [...new Set(changes.map(({ resource }) => nameOf(resource)))].map((name) => [
          name,
          within(changes.filter(({ resource }) => nameOf(resource) === name)),
        ]),
      ),
      /** That were compared with the source at the end. */
      cells: await catchUp(day),
    }
  } finally {
    await day.close()
  }
}

/** The shops close; reads everything without a limit, and compares every cell with the source. */
export async function catchUp(day: PlayedDay): Promise<number> {
  day.clock.rest()
  day.rate.limit = 1_000_000
  // The window that was spent with the small limit is over.
  await day.passTo((Math.floor(day.clock.now / hour) + 1) * hour + 60_000)
  const { code, report } = await day.run('everything')
  if (code !== 0) throw new Error(`The last run ended with ${code}: ${JSON.stringify(report)}`)
  return compare(day.warehouse, expected(day.sandbox))
}

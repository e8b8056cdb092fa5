/** What a policy makes of a played day: the shops work, the job is begun as cron would, and a day of it is measured. */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { parseDuration } from '../../../src/engine/config/duration.js'
import { delaysSince } from '../../../src/features/targets/sql.js'
import { type Kind, rowsOf } from '../harness/warehouse.js'
import { compare, expected } from '../oracle/cells.js'
import { type Arrived, shareWithin } from './arrivals.js'
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

type PlayedHours = readonly [learning: number, beginning: number, measured: number]

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
  readonly hours: PlayedHours
}

/** Shares from 0 to 1. */
export interface PlayedFigures {
  readonly changes: number
  /** Of all changes, by the source and the rows. */
  readonly within: number
  /** Of those that arrived meanwhile and that a poll can have seen: no later change of the record came with them. */
  readonly withinSeen: number
  /** The same, as `sync_delays` has it. */
  readonly told: number
  /** In minutes. */
  readonly meanDelay: number
  readonly requests: number
  /** Of the lists, each hour. */
  readonly proven: number
  /** In hours. */
  readonly longestWait: number
  readonly runs: number
  readonly turns: number
  readonly exitCodes: readonly number[]
  /** The share within target, by the names in `targets`. */
  readonly byTarget: Readonly<Record<string, number>>
  /** That were compared with the source at the end. */
  readonly cells: number
}

const stamp = (milliseconds: number): string => fromMicros(BigInt(Math.round(milliseconds)) * 1000n)

const rounded = (value: number): number => Math.round(value * 1000) / 1000

export async function playPolicy(kind: Kind, policy: PlayedPolicy): Promise<PlayedFigures> {
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
    const codes = new Set<number>()
    const ended = ({ code }: PlayedRun): void => void codes.add(code)
    await day.repeat('hourly', 60, learning, ended)
    if (policy.hears) await day.listen()
    await day.repeat(job, every, left(from), ended)
    const proven: number[] = []
    let runs = 0
    let seenTo = 0
    await day.repeat(job, every, left(to), async ({ code }, at) => {
      runs++
      codes.add(code)
      if (at < seenTo + hour) return
      seenTo = at
      proven.push(await provenShare(day))
    })
    const told = await delaysSince(day.warehouse, stamp(from))
    const met = told.reduce((sum, one) => sum + one.met, 0)
    const targetOf = (resource: string): number => parseDuration(targets[resource] ?? targets['*'] ?? '') ?? 0
    const changes = day.watch.changes(from, to)
    return {
      changes: changes.length,
      within: rounded(shareWithin(changes, targetOf, to)),
      withinSeen: rounded(shareWithin(day.watch.arrivals(from, day.clock.now), targetOf, to)),
      told: rounded(met / told.reduce((sum, one) => sum + one.met + one.missed, 0)),
      meanDelay: Math.round(meanDelay(changes, to) / 60_000),
      requests: day.watch.requests(from, to),
      proven: rounded(proven.reduce((sum, one) => sum + one, 0) / proven.length),
      longestWait: Math.round((day.watch.longestWait(from, to).milliseconds / hour) * 10) / 10,
      runs,
      turns: day.turns,
      exitCodes: [...codes],
      byTarget: byTarget(changes, targets, (some) => rounded(shareWithin(some, targetOf, to))),
      cells: await catchUp(day),
    }
  } finally {
    await day.close()
  }
}

function byTarget(
  changes: readonly Arrived[],
  targets: Readonly<Record<string, string>>,
  share: (some: readonly Arrived[]) => number,
): Record<string, number> {
  const nameOf = ({ resource }: Arrived): string => (Object.hasOwn(targets, resource) ? resource : '*')
  const names = [...new Set(changes.map(nameOf))]
  return Object.fromEntries(
    names.map((name) => {
      const some = changes.filter((one) => nameOf(one) === name)
      return [name, share(some)]
    }),
  )
}

/** What is not there yet counts with the time that it has waited. */
const meanDelay = (changes: readonly Arrived[], to: number): number =>
  changes.reduce((sum, { at, delay }) => sum + (delay ?? to - at), 0) / Math.max(1, changes.length)

async function provenShare({ warehouse, lists }: PlayedDay): Promise<number> {
  const rows = await rowsOf(warehouse, 'sync_cursors')
  return (
    rows.filter(({ status, completeness }) => status === 'ok' && completeness === 'proven').length / lists
  )
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

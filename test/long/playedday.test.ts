/**
 * A working day of 30 shops on a simulated clock, with a window of a third of what hourly polling takes: the shipped job
 * `due` every five minutes, without events and with events of which some get lost, beside the job `hourly`. Before it, each
 * has a day of hourly polling in which the rates are learned, and 30 hours of its own.
 * PLAYED_POLICY=… plays only one of them, PLAYED_SEED=… makes it another day, PLAYED_HOURS=… sets the hours of the three
 * parts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDuration } from '../../src/engine/config/duration.js'
import { root } from '../support/harness/tree.js'
import { bothWarehouses, type Kind, rowsOf } from '../support/harness/warehouse.js'
import { type Change, shareWithin } from '../support/world/arrivals.js'
import { PlayedDay, type PlayedOptions } from '../support/world/playedday.js'

const hour = 3_600_000

const settingsLists = ['categories', 'canned_jobs', 'shops', 'staffs', 'statuses', 'vendors']

/** From 15 minutes to a day. */
const playedTargets: Readonly<Record<string, string>> = {
  repair_orders: 'PT15M',
  appointments: 'PT30M',
  payments: 'PT1H',
  customers: 'PT1H',
  notes: 'PT1H',
  vehicles: 'PT1H',
  '*': 'PT6H',
  ...Object.fromEntries(settingsLists.map((name) => [name, 'PT24H'])),
}

interface PlayedPolicy extends PlayedOptions {
  readonly job: 'due' | 'hourly'
  /** Minutes from one beginning of the job to the next. */
  readonly every: number
  /** Whether events come once the policy begins. */
  readonly hears?: boolean
  /** Requests an hour. */
  readonly limit: number
  /** Hours of hourly polling, of the policy's beginning, and those that are measured. */
  readonly hours: readonly [learning: number, beginning: number, measured: number]
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000
const sumOf = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0)

/** What docs/scale.md tells of the policy. Shares are from 0 to 1. */
async function playPolicy(kind: Kind, policy: PlayedPolicy) {
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
    const ended = (code: number | null): void => void codes.add(code)
    await day.repeat('hourly', 60, learning, ended)
    if (policy.hears) await day.listen()
    await day.repeat(job, every, left(from), ended)
    /** The share of `proven` lists, each hour. */
    const proven: number[] = []
    let seenTo = 0
    await day.repeat(job, every, left(to), async (code, at) => {
      codes.add(code)
      if (at < seenTo + hour) return
      seenTo = at
      const cursors = await rowsOf(day.warehouse, 'sync_cursors')
      const isProven = cursors.filter((one) => one.status === 'ok' && one.completeness === 'proven')
      proven.push(isProven.length / day.lists)
    })
    const told = await day.told(from)
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
      cells: await day.catchUp(),
    }
  } finally {
    await day.close()
  }
}

const { PLAYED_SEED = '5', PLAYED_POLICY = '', PLAYED_HOURS = '24,30,24' } = process.env
const [learning = 0, beginning = 0, measured = 0] = PLAYED_HOURS.split(',').map(Number)
const hours = [learning, beginning, measured] as const
const tenants = 30
const lists = 21
const limit = (tenants * lists) / 3
// A Monday after the time of any database: stamps are later than its clock, and a simulated one doesn't change that.
const shops = {
  tenants,
  begin: '2035-03-05T00:00:00Z',
  seed: Number(PLAYED_SEED),
  targets: playedTargets,
  limit,
  hours,
}
const policies: Readonly<Record<string, PlayedPolicy>> = {
  hourly: { ...shops, job: 'hourly', every: 60 },
  due: { ...shops, job: 'due', every: 5 },
  'due, with events': { ...shops, job: 'due', every: 5, hears: true },
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('brings more in time than hourly polling does, with no more requests, and loses nothing', async () => {
    const found: Record<string, Awaited<ReturnType<typeof playPolicy>>> = {}
    for (const [name, policy] of Object.entries(policies)) {
      if (PLAYED_POLICY && name !== PLAYED_POLICY) continue
      found[name] = await playPolicy(kind, policy)
      console.log(kind.name, name, JSON.stringify(found[name]))
    }
    writeFileSync(join(root, `dist/playedday-${kind.name}.json`), JSON.stringify(found, null, 2))
    for (const { exitCodes, told, withinSeen, proven, requests, cells } of Object.values(found)) {
      expect(exitCodes).toEqual([0])
      expect(Math.abs(told - withinSeen)).toBeLessThan(0.03)
      expect(proven).toBeGreaterThan(0.99)
      expect(requests).toBeLessThanOrEqual(24 * limit)
      expect(cells).toBeGreaterThan(100_000)
    }
    const { hourly, due, 'due, with events': hearing } = found
    if (!hourly || !due || !hearing) return
    expect(due.within).toBeGreaterThan(1.3 * hourly.within)
    expect(hearing.within).toBeGreaterThan(1.05 * due.within)
    // The bound and one round.
    for (const { longestWait } of [due, hearing]) expect(longestWait).toBeLessThanOrEqual(24.1)
  })
})

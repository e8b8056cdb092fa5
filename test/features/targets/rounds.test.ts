/**
 * Rounds of `due` on a simulated clock: polls and checks of deletions share their requests; while the machine's clock jumps,
 * and while the source allows less than it did, nothing is lost and no list starves.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { isWhole, sample } from '../../support/harness/size.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { PlayedDay } from '../../support/world/playedday.js'
import { catchUp } from '../../support/world/playedfigures.js'

const hour = 3_600_000
const [kind] = warehouses()
let day: PlayedDay

beforeAll(async () => {
  const shops = { tenants: 2, repairOrders: 4, begin: '2026-03-02T15:00:00Z', seed: 7 }
  const targets = { repair_orders: 'PT15M', '*': 'PT1H' }
  day = await PlayedDay.open(kind!, { ...shops, targets, polling: { atLeast: 'PT2H' } })
})
afterAll(() => day.close())
beforeEach(async () => {
  day.work(5)
  day.rate.limit = 100
  await day.passTo(day.clock.now + hour)
})

/** Plays so many hours; the exit codes of the rounds, and how many lists each worked on. */
async function rounds(hours: number): Promise<{ codes: (number | null)[]; lists: number[] }> {
  const [codes, lists]: [(number | null)[], number[]] = [[], []]
  await day.repeat('due', 5, hours, ({ code, report }) => {
    codes.push(code)
    lists.push(report.cursors.length)
  })
  return { codes, lists }
}

/** The longest wait of any list, in hours. All were read at one time at first, so they reach `atLeast` together. */
const longestWait = (from: number): number => day.watch.longestWait(from, day.clock.now) / hour
const bound = 3
/** In a sample, each part of a day is shorter. */
const part = isWhole() ? 1 : 1 / 3

const jumps = [
  ['forward by a day', 24n],
  ['back by an hour', -1n],
] as const
it.each(sample(jumps))('a clock that jumps %s in the middle, and back again', async (_name, hours) => {
  const from = day.clock.now
  const before = await rounds(part)
  day.clock.skew = hours * 3_600_000_000n
  const during = await rounds(part)
  day.clock.skew = 0n
  const after = await rounds(3 * part)
  const codes = [...before.codes, ...during.codes, ...after.codes]
  expect(new Set(codes)).toEqual(new Set([0]))
  // Work goes on while the clock is wrong, and when it is right again.
  for (const { lists } of [during, after]) expect(lists.reduce((a, b) => a + b)).toBeGreaterThan(10)
  expect(longestWait(from)).toBeLessThan(bound)
  expect(await catchUp(day)).toBeGreaterThan(10_000)
})

it('a limit that falls to a tenth in the middle of a round, and in the rounds after it', async () => {
  const before = await rounds(part)
  let left = 5
  const stop = day.sandbox.onRequest(() => {
    left -= 1
    if (left === 0) day.rate.limit = 6
  })
  const during = await rounds(2 * part)
  stop()
  expect(day.rate.limit).toBe(6)
  day.rate.limit = 100
  const after = await rounds(2 * part)
  expect(new Set([...before.codes, ...during.codes, ...after.codes])).toEqual(new Set([0]))
  expect(after.lists.reduce((a, b) => a + b)).toBeGreaterThan(30 * part)
  expect(await catchUp(day)).toBeGreaterThan(10_000)
})

it('checks of deletions take what polls leave, and as much as makes them in time', async () => {
  // Everything is due, deletions too.
  await day.passTo((Math.floor(day.clock.now / hour) + 60) * hour)
  // Four minutes of an hour: 40 requests, of which a tenth is set aside for more pages.
  day.rate.limit = 600
  const { code, report } = await day.run('due')
  expect(code).toBe(0)
  const requestsOf = (wanted: number): number =>
    report.cursors.reduce((sum, { step, requests }) => sum + (step === wanted ? requests : 0), 0)
  expect(requestsOf(1)).toBeGreaterThanOrEqual(30)
  expect(requestsOf(2)).toBeGreaterThanOrEqual(2)
  expect(requestsOf(2)).toBeLessThanOrEqual(8)
  expect(report.requests).toBeLessThanOrEqual(40 + 2)
})

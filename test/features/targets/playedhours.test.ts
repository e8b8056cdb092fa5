/** Some hours of a few shops, with a window of a third of what hourly polling takes (test/long/playedday.test.ts plays a day). */
import { expect, it } from 'vitest'
import { type PlayedPolicy, playedTargets, playPolicy } from '../../support/playedfigures.js'
import { warehouses } from '../../support/warehouse.js'

const [sqlite] = warehouses()
const tenants = 8
const limit = (tenants * 21) / 3
const shops = {
  ...{ tenants, begin: '2026-03-02T14:00:00Z', seed: 3, repairOrders: 4 },
  ...{ targets: playedTargets, limit, hours: [3, 1, 4] as const },
}

const play = (policy: Pick<PlayedPolicy, 'job' | 'every' | 'schedule'>) => {
  if (!sqlite) throw new Error('There is no SQLite')
  return playPolicy(sqlite, { ...shops, ...policy })
}

it('more changes are in time than with hourly polling, with no more requests, and nothing is lost', async () => {
  const hourly = await play({ job: 'hourly', every: 60 })
  const due = await play({ job: 'due', every: 10, schedule: '*/10 * * * *' })
  expect([due.exitCodes, hourly.exitCodes]).toEqual([[0], [0]])
  expect(Math.min(due.changes, hourly.changes)).toBeGreaterThan(40)
  expect(due.within).toBeGreaterThan(1.2 * hourly.within)
  expect(due.requests).toBeLessThanOrEqual(4 * limit)
  expect(Math.abs(due.told - due.withinSeen)).toBeLessThan(0.05)
  expect(due.proven).toBe(1)
  expect(due.cells).toBeGreaterThan(10_000)
})

/** Polls and checks of deletions share one round's requests. */
import { expect, it } from 'vitest'
import { warehouses } from '../../support/harness/warehouse.js'
import { PlayedDay } from '../../support/world/playedday.js'
import { playedTargets } from '../../support/world/playedfigures.js'

const hour = 3_600_000

it.each(warehouses())(
  'checks take what polls leave, and as much as makes them in time: $name',
  async (kind) => {
    const begin = '2026-03-02T00:00:00Z'
    const day = await PlayedDay.open(kind, {
      ...{ tenants: 4, begin, seed: 3, repairOrders: 4, targets: playedTargets },
    })
    try {
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
    } finally {
      await day.close()
    }
  },
)

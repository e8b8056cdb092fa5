/**
 * The parts of the rate throttle against a simulated server in virtual time (docs/dev/architecture.md, What else the engine
 * rests on).
 */
import { describe, expect, it } from 'vitest'
import { Concurrency } from '../../../src/engine/source/rate/concurrency.js'
import { Skew } from '../../../src/engine/source/rate/skew.js'
import { sized } from '../../support/harness/size.js'
import { randomFrom } from '../../support/world/random.js'
import { type Scenario, simulate } from '../../support/world/simulation.js'

const base: Scenario = {
  window: 10_000,
  limit: 100,
  latency: 200,
  others: 0,
  connections: 16,
  reserve: 0,
  windows: 40,
  skew: 0,
  seed: 1,
}

describe('against a simulated server the throttle', () => {
  it.each([
    [1000, 100, 20],
    [1000, 10, 200],
    [10_000, 10, 2000],
    [10_000, 1000, 200],
    [60_000, 1000, 20],
    [3_600_000, 100, 2000],
  ])(
    'uses windows of %i ms, limit %i, latency %i ms by itself, and is never refused',
    (window, limit, latency) => {
      for (const skew of [0, 7 * 3_600_000 + 431, -26 * 3_600_000 - 12]) {
        const tally = simulate({ ...base, window, limit, latency, skew, windows: 12, seed: skew + 1 })
        expect(tally.useOfPossible).toBeGreaterThanOrEqual(0.97)
        expect(tally.refused).toBe(0)
        expect(tally.mostInflightUnknown).toBe(1)
      }
    },
  )

  it.each([0.1, 0.25, 0.5])('is seldom refused while others use %d of the limit', (others) => {
    for (const limit of [10, 100, 1000]) {
      const windows = sized(6000, 20_000) / limit
      const tally = simulate({ ...base, limit, others, windows })
      expect(tally.useOfPossible).toBeGreaterThanOrEqual(0.9)
      expect(tally.refusedLater / tally.sentLater).toBeLessThan(0.005)
    }
  })

  it('shares a limit with another process of its kind', () => {
    for (const latency of [20, 200]) {
      const tally = simulate({
        ...base,
        limit: 1000,
        latency,
        processes: 2,
        window: 60_000,
        windows: sized(12, 40),
      })
      expect(tally.useOfPossible).toBeGreaterThanOrEqual(0.9)
      expect(tally.refusedLater / tally.sentLater).toBeLessThan(0.005)
    }
  })

  // A row that is named a second after the last window's end was once taken for that window, and the next one was lost.
  it.each([2, 4, 8])('uses windows up with %d processes that share them by a row', (processes) => {
    for (const [limit, latency] of [
      [100, 20],
      [100, 200],
      [1000, 20],
    ] as const) {
      const skew = 7 * 3_600_000 + 370
      const shared = { shared: 3, processes, window: 60_000, skew }
      const tally = simulate({
        ...base,
        ...shared,
        limit,
        latency,
        windows: sized(20, 100),
        seed: limit + processes,
      })
      expect(tally.leastUse).toBeGreaterThanOrEqual(0.97)
      expect(tally.refusedLater).toBe(0)
    }
  })

  it('takes less of a shared window after refusals, while others use a quarter of the limit', () => {
    const shared = { shared: 3, processes: 2, window: 60_000, skew: 7 * 3_600_000 + 370 }
    const tally = simulate({ ...base, ...shared, latency: 2000, others: 0.25, windows: sized(40, 100) })
    expect(tally.useOfPossible).toBeGreaterThanOrEqual(0.97)
    expect(tally.refusedLater / tally.sentLater).toBeLessThan(0.005)
  })

  it('leaves the reserve untouched', () => {
    const tally = simulate({ ...base, reserve: 0.25 })
    expect(tally.use).toBe(0.75)
    expect(tally.refused).toBe(0)
  })

  it('copes with windows that end within a second, however their end is rounded', () => {
    for (const rounding of ['floor', 'ceil'] as const)
      for (const phase of [0, 370, 990]) {
        const tally = simulate({ ...base, phase, rounding })
        expect(tally.useOfPossible).toBeGreaterThanOrEqual(0.97)
        // The first request that comes too early shows how late these windows end.
        expect(tally.refused).toBeLessThanOrEqual(rounding === 'floor' && phase > 0 ? base.connections : 0)
        expect(tally.refusedLater).toBe(0)
      }
  })
})

describe('the bounds of the server’s clock', () => {
  it('contain the truth and close in on it', () => {
    const random = randomFrom(3)
    const skew = new Skew()
    const ahead = 3_600_123.4
    let now = 1_700_000_000_000
    for (let index = 0; index < 500; index++) {
      now += 137 * random()
      const [up, down] = [20 * random(), 20 * random()]
      const date = Math.floor((now + up + ahead) / 1000) * 1000
      skew.observe(date, now, now + up + down)
      now += up + down
      expect(skew.atLeast(now)).toBeLessThanOrEqual(now + ahead)
      expect(skew.perhaps(now + ahead)).toBeLessThanOrEqual(now)
    }
    expect(skew.width).toBeLessThan(150)
  })

  it('start over when a clock was set', () => {
    const skew = new Skew()
    skew.observe(1_000_000, 1_000_100, 1_000_200)
    skew.observe(5_000_000, 1_001_100, 1_001_200)
    expect(skew.surely(5_000_000)).toBe(1_001_200)
  })
})

describe('concurrency', () => {
  const run = (concurrency: Concurrency, answers: number, latency: (level: number) => number): number => {
    for (let index = 0; index < answers; index++) concurrency.answered(latency(concurrency.level))
    return concurrency.level
  }

  it('reaches all connections while latency holds, and stays there despite jitter', () => {
    const random = randomFrom(5)
    const concurrency = new Concurrency(16)
    expect(run(concurrency, 16, () => 200)).toBe(16)
    for (let index = 0; index < 50; index++) expect(run(concurrency, 40, () => 1 + 15 * random())).toBe(16)
  })

  it('shrinks if more in flight only means waiting longer, but not to nothing', () => {
    const concurrency = new Concurrency(16)
    const level = run(concurrency, 3000, (inFlight) => 100 * Math.max(1, inFlight))
    expect(level).toBeLessThan(8)
    expect(level).toBeGreaterThanOrEqual(4)
  })

  it('accepts slower pages as the new normal, and recovers', () => {
    const concurrency = new Concurrency(16)
    run(concurrency, 200, () => 5)
    expect(run(concurrency, 600, () => 300)).toBe(16)
  })

  it('backs off from a server in trouble and comes back', () => {
    const concurrency = new Concurrency(16)
    run(concurrency, 100, () => 50)
    for (let index = 0; index < 50; index++) concurrency.failed()
    expect(concurrency.level).toBe(4)
    expect(run(concurrency, 300, () => 50)).toBe(16)
  })
})

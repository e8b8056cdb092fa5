/** A small window, simulated: what the ranking achieves, and what the forecast predicts for it (bench/freshness.ts). */
import { describe, expect, it } from 'vitest'
import { simulate } from '../../../bench/freshness/simulated.js'
import { sized } from '../../support/harness/size.js'

const shops = { tenants: sized(8, 30), days: sized(1, 2), daysBefore: sized(2, 3), seed: 1 }

describe('a window of 0.29 requests per list and hour', () => {
  it('fetches twice as many changes in time as reading in turn, with the same requests', () => {
    const ranked = simulate({ ...shops, window: 0.29, policy: 'by expected delay' })
    const inTurn = simulate({ ...shops, window: 0.29, policy: 'round robin' })
    expect(ranked.requests).toBe(inTurn.requests)
    expect(ranked.met).toBeGreaterThan(1.7 * inTurn.met)
    expect(ranked.meanDelay).toBeLessThan(0.7 * inTurn.meanDelay)
    expect(Math.abs(ranked.forecast - ranked.met)).toBeLessThan(0.06)
    expect(ranked.longestWait).toBeLessThanOrEqual(25)
  })

  it('lets no list wait longer than the bound while 40 % are read for the first time', () => {
    const begun = simulate({
      tenants: sized(5, 15),
      days: sized(2, 3),
      daysBefore: 0,
      seed: 2,
      window: 0.29,
      policy: 'by expected delay',
      neverRead: 0.4,
    })
    expect(begun.longestWait).toBeLessThanOrEqual(25)
  })
})

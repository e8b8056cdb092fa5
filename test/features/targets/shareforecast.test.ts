/** What a window allows, and what a share takes: closed formulas, checked with hand-computed cases. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  forecastShare,
  requestsForAll,
  requestsForShare,
} from '../../../src/features/targets/shareforecast.js'
import { freshnessPlanText } from '../../../src/features/targets/words.js'

const bound = { bound: 24 }
const list = (rate: number, target: number, resource = 'a') => ({ resource, rate, target })

describe('the share within target', () => {
  it('of equal lists is the target divided by the interval that the requests allow', () => {
    const lists = Array.from({ length: 10 }, () => list(2, 1))
    expect(forecastShare(lists, 5, bound).share).toBeCloseTo(0.5)
    expect(forecastShare(lists, 10, bound).share).toBeCloseTo(1)
    expect(forecastShare(lists, 1000, bound).share).toBe(1)
  })

  it('distributes requests by the root of rate and target', () => {
    // Intervals of √(θτ/λ): 1 : 2, so 3 requests per hour read one list every half hour and the other every hour.
    const lists = [list(4, 0.25, 'busy'), list(1, 0.25, 'quiet')]
    const { share, shareOf } = forecastShare(lists, 3, bound)
    expect(shareOf(lists.slice(0, 1))).toBeCloseTo(0.5)
    expect(shareOf(lists.slice(1))).toBeCloseTo(0.25)
    expect(share).toBeCloseTo((4 * 0.5 + 1 * 0.25) / 5)
  })

  it('reads no list more rarely than the bound', () => {
    const idle = list(0.0001, 12, 'idle')
    const { shareOf } = forecastShare([list(5, 0.25, 'busy'), idle], 4, bound)
    expect(shareOf([idle])).toBeCloseTo(0.5)
  })
})

describe('the requests', () => {
  it('for all changes are one per target and list', () => {
    expect(requestsForAll([list(1, 0.25), list(0.1, 6)], bound)).toBeCloseTo(4 + 1 / 6)
  })

  it('for a share count all lists, but only the changes of the judged ones', () => {
    // Another list of the same rate and target takes the same requests, whether its changes count or not.
    const lists = [list(1, 1, 'judged'), list(1, 1, 'other')]
    const isJudged = ({ resource }: { readonly resource: string }): boolean => resource === 'judged'
    expect(requestsForShare(lists, 0.5, { ...bound, isJudged })).toBeCloseTo(1)
    // A busy one whose changes count would reach the share by itself.
    const busy = [list(0.01, 6, 'judged'), list(100, 0.25, 'other')]
    expect(requestsForShare(busy, 0.5, bound)).toBeLessThan(
      requestsForShare(busy, 0.5, { ...bound, isJudged }),
    )
    expect(requestsForShare(busy, 0.95, { bound: 24, isJudged: () => false })).toBeCloseTo(2 / 24)
  })

  it('for most changes are never more than for all of them', () => {
    // Two busy lists, and forty quiet ones: the ranking would poll the busy ones four times per target.
    const lists = [
      ...Array.from({ length: 2 }, () => list(1, 0.25)),
      ...Array.from({ length: 40 }, () => list(0.01, 6)),
    ]
    const all = requestsForAll(lists, bound)
    expect(all).toBeCloseTo(2 * 4 + 40 / 6)
    expect(requestsForShare(lists, 0.95, bound)).toBe(all)
  })

  it('for a share yield that share', () => {
    const lists = fc.array(
      fc.record({
        resource: fc.constantFrom('a', 'b'),
        rate: fc.double({ min: 0.001, max: 10, noNaN: true }),
        target: fc.constantFrom(0.25, 1, 6, 24),
      }),
      { minLength: 1, maxLength: 30 },
    )
    fc.assert(
      fc.property(lists, fc.double({ min: 0.5, max: 0.97, noNaN: true }), (some, share) => {
        const least = forecastShare(some, 0, bound).share
        const requests = requestsForShare(some, share, bound)
        // Where the ranking would take more than one poll per list and target, that many come close.
        const short = requests < requestsForAll(some, bound) ? 0.01 : 0.1
        expect(forecastShare(some, requests * 1.0001, bound).share).toBeGreaterThanOrEqual(share - short)
        if (share > least) expect(requests).toBeLessThanOrEqual(requestsForAll(some, bound))
      }),
    )
  })
})

it('plan shows by how much a rate limit is too small, how long lists wait then, and the two ways out', () => {
  const plan = {
    ...{ lists: 210_000, needed_for_most: 120_000, needed_for_all: 126_200, window: 6000, share: 0.2345 },
    resources: [{ resource: 'notes', target_seconds: 900, share: 0.1 }],
    ...{ longest_wait_seconds: 252_000, stretched: true, needed_for_bound: 17_500 },
  }
  const rate = {
    ...{ limit: 100, remaining: 40, window_seconds: 60, window_known: true, reserve: 0 },
    counted_by: 'partner' as const,
  }
  expect(freshnessPlanText(plan, rate)).toBe(
    [
      'Freshness: for 95% of changes to arrive within their targets, runs need 120,000 requests an hour; for all of them, always, 126,200.',
      'The rate limit gives 6,000 an hour (100 a minute, counted by partner): 23% of changes should arrive within target.',
      '  notes PT15M 10%. Longest wait of any list: 2 d 22 h.',
      "✗ Polling each of 210,000 lists within polling.atLeast needs a rate limit of 17,500 requests an hour, and there are 6,000: some lists wait 2 d 22 h. Set a longer polling.atLeast, or ask the source's operator for a larger limit.",
    ].join('\n'),
  )
})

it('plan for lists without a target shows what polling.atLeast takes, and no share', () => {
  const plan = {
    ...{ lists: 48, needed_for_most: 2, needed_for_all: 2, window: 6000, share: null, resources: [] },
    ...{ longest_wait_seconds: 86_400, stretched: false, needed_for_bound: 4 },
  }
  const needs =
    'Freshness: none of 48 lists has a target; polling each within polling.atLeast needs 2 requests an hour.'
  expect(freshnessPlanText(plan, null)).toBe(
    `${needs}\nThe rate limit gives 6,000 an hour.\n  Longest wait of any list: 1 d.`,
  )
  expect(freshnessPlanText({ ...plan, window: null }, null)).toBe(
    `${needs}\nNo rate limit is known: every list is polled when it is due.`,
  )
})

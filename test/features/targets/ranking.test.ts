/**
 * The pure part of a round (docs/scale.md): which lists it polls, which checks of deletions fit in, what it may send,
 * and what that promises. What comes of it in days of shops at work, simulated.test.ts shows.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DueChecks } from '../../../src/features/targets/checkround.js'
import {
  boundOf,
  changeRate,
  chooseLists,
  meanRates,
  type PolledList,
  scoreOf,
  shareForUnread,
} from '../../../src/features/targets/pollranking.js'
import {
  forecastShare,
  requestsForAll,
  requestsForShare,
} from '../../../src/features/targets/shareforecast.js'
import {
  afterPolls,
  budgetEnd,
  budgetOf,
  reservedForChecks,
  roundEnd,
} from '../../../src/features/targets/windowbudget.js'

interface Numbered extends PolledList {
  readonly id: number
}

const list = (id: number, more: Partial<PolledList> = {}): Numbered => ({
  id,
  resource: 'a',
  waited: 1,
  news: 0,
  hours: 24,
  events: 0,
  eventAges: 0,
  ...more,
})
const targets: Record<string, number> = { a: 0.25, b: 6, c: 24 }
const targetOf = (resource: string): number => targets[resource] ?? 24
const rules = { targetOf, bound: 24, budget: undefined }

describe('a round', () => {
  const busy = Array.from({ length: 80 }, (_, id) => list(id))
  const unread = Array.from({ length: 20 }, (_, id) => `never ${id}`)
  it.each([
    [80, { budget: 60 }, [45, 5, 15]],
    [3, { budget: 8, turn: 1 }, [3, 2, 5]],
    [80, { budget: 200 }, [80, 20, 120]],
    [80, { budget: 0 }, [0, 0, 0]],
  ])(
    'of %i due lists and twenty unread ones, given %j, gives a quarter to first loads, or what is left',
    (n, given, found) => {
      const {
        polled,
        unread: read,
        forUnread,
      } = chooseLists(busy.slice(0, n), unread, { ...rules, ...given })
      expect([polled.length, read.length, forUnread]).toEqual(found)
    },
  )

  it('where a quarter is too little for a first load, one round in several gets enough', () => {
    const given = Array.from(
      { length: 10 },
      (_, turn) => chooseLists(busy, ['never'], { ...rules, budget: 8, turn }).forUnread,
    )
    expect(given).toEqual([8, 0, 0, 0, 0, 8, 0, 0, 0, 0])
    expect([shareForUnread(20, 0), shareForUnread(20, 1), shareForUnread(40, 1)]).toEqual([10, 0, 10])
  })
})

describe('any round', () => {
  const anyList = fc.record({
    resource: fc.constantFrom('a', 'b', 'c'),
    waited: fc.double({ min: 0, max: 100, noNaN: true }),
    news: fc.double({ min: 0, max: 500, noNaN: true }),
    hours: fc.double({ min: 0, max: 170, noNaN: true }),
    events: fc.constant(0),
    eventAges: fc.constant(0),
  })
  const anyRound = fc.record({
    lists: fc.array(anyList, { maxLength: 60 }).map((some) => some.map((one, id) => ({ id, ...one }))),
    unread: fc.nat(60).map((n) => Array.from({ length: n }, (_, id) => id)),
    budget: fc.nat(80),
    turn: fc.nat(9),
  })

  it('keeps to its budget, polls each list once, and leaves nothing due while requests are left', () => {
    fc.assert(
      fc.property(anyRound, ({ lists, unread, budget, turn }) => {
        const chosen = chooseLists(lists, unread, { ...rules, budget, turn })
        const taken = chosen.polled.length + (unread.length > 0 ? chosen.forUnread : 0)
        expect(taken).toBeLessThanOrEqual(budget)
        expect(new Set(chosen.polled).size).toBe(chosen.polled.length)
        const due = lists.filter(({ waited, resource }) => waited >= targetOf(resource) / 4)
        expect(taken).toBe(unread.length > 0 ? budget : Math.min(budget, due.length))
      }),
    )
  })

  it('gives half to what has reached the bound, longest wait first, and to the unread no more than a quarter', () => {
    fc.assert(
      fc.property(anyRound, ({ lists, unread, budget, turn }) => {
        const chosen = chooseLists(lists, unread, { ...rules, budget, turn })
        const overdue = lists
          .filter(({ waited }) => waited >= rules.bound)
          .toSorted((a, b) => b.waited - a.waited)
        const half = Math.min(overdue.length, Math.ceil(budget / 2))
        expect(chosen.polled.slice(0, half)).toEqual(overdue.slice(0, half))
        const left = lists.filter(
          (one) => one.waited >= targetOf(one.resource) / 4 && !chosen.polled.includes(one),
        )
        if (left.length > 0 && unread.length > 0)
          expect(chosen.forUnread).toBeLessThanOrEqual(shareForUnread(budget, turn))
      }),
    )
  })

  it('leaves nothing behind that scores higher than what it polls', () => {
    fc.assert(
      fc.property(anyRound, ({ lists, budget }) => {
        const meanOf = meanRates(lists)
        const scored = (one: PolledList): number =>
          scoreOf(one, changeRate(one, meanOf(one.resource)), targetOf(one.resource))
        const young = lists.map((one) => ({ ...one, waited: Math.min(one.waited, 23) }))
        const { polled } = chooseLists(young, [], { ...rules, budget })
        const least = Math.min(...polled.map(scored))
        for (const one of young)
          if (!polled.includes(one) && one.waited >= targetOf(one.resource) / 4)
            expect(scored(one)).toBeLessThanOrEqual(least)
      }),
    )
  })
})

describe('the bound', () => {
  const old = Array.from({ length: 10 }, (_, id) => list(id, { resource: 'c', waited: 23.5, hours: 9000 }))
  const busy = Array.from({ length: 10 }, (_, id) => list(10 + id, { news: 500, waited: 20 }))

  it.each([
    ['no more than others if it is not near', {}, 0],
    // A window that is spent early.
    ['half, if it is reached in this window', { windowEndsIn: 0.9 }, 5],
    ['no more than others, if it is reached in the next one', { windowEndsIn: 0.2 }, 0],
    // Events have used the rest.
    ['half of what the rate limit gives', { windowEndsIn: 0.9, lasts: 0.16 }, 8],
    ['all, if that is half of what the rate limit gives', { windowEndsIn: 0.9, lasts: 1 }, 10],
  ])('gives lists that come to it %s', (_, more, polled) => {
    const given = { ...rules, windowAnHour: 100, budget: 10, ...more }
    expect(chooseLists([...busy, ...old], [], given).polled.filter((one) => old.includes(one))).toHaveLength(
      polled,
    )
  })

  it('is as configured while that takes half of the window, and longer for all if it takes more', () => {
    const bounds = [
      [1200, 100],
      [2400, 100],
      [1_000_000, undefined],
    ] as const
    expect(bounds.map(([lists, windowAnHour]) => boundOf(24, { lists, windowAnHour }))).toEqual([24, 48, 24])
  })
})

describe('what a round may send', () => {
  const minute = 60_000
  const hour = 60 * minute
  const short = { limit: 1000, remaining: 400, resetsAt: 30_000, length: minute }
  const long = { limit: 6000, remaining: 6000, resetsAt: hour, length: hour }

  it.each([
    ['what is left and the whole windows until its end, less a tenth', short, [0, 4 * minute, 0], 3060],
    ['without the reserve of each window', short, [0, 2 * minute, 0.25], 810],
    ['nothing where only the reserve is left', { ...short, remaining: 200 }, [0, 30_000, 0.25], 0],
    ['its part of a window that outlasts it', long, [0, 6 * minute, 0], 540],
    ['what is left of that', { ...long, remaining: 100 }, [hour - minute, hour, 0], 90],
  ] as const)('%s', (_, window, [now, until, reserve], budget) => {
    expect(budgetOf(window, { now, until, reserve })).toBe(budget)
  })

  it('lasts until its time limit, else the next planned instant (after a late start the one after it), else an hour', () => {
    const next = [5 * minute, 10 * minute]
    expect(roundEnd(0, { limit: 4 * minute, next: [minute] })).toBe(4 * minute)
    expect([roundEnd(0, { next }), roundEnd(4 * minute, { next })]).toEqual(next)
    expect(roundEnd(minute, {})).toBe(minute + hour)
    // Its budget reaches to the next planned instant, even if a time limit ends the round sooner.
    const endsAt = 4 * minute
    expect(budgetEnd(0, { endsAt, resetsAt: hour, next })).toBe(5 * minute)
    expect(budgetEnd(0, { endsAt, resetsAt: 4.5 * minute, next })).toBe(4.5 * minute)
    expect(budgetEnd(0, { endsAt, resetsAt: hour })).toBe(endsAt)
  })

  it('leaves to checks of deletions what makes them in time, a tenth if one is late, at most half, or what polls left', () => {
    const reserved = (budget: number, needed: number, isLate = false) =>
      reservedForChecks(budget, { needed, isLate })
    expect([reserved(100, 0), reserved(100, 0, true), reserved(100, 3)]).toEqual([0, 10, 3])
    expect([reserved(100, 23.5, true), reserved(100, 80), reserved(0, 80, true)]).toEqual([24, 50, 0])
    expect([afterPolls(100, 90, 10), afterPolls(100, 130, 10), afterPolls(100, 20, 10)]).toEqual([10, 10, 80])
  })
})

describe('checks of deletions', () => {
  const now = Date.parse('2026-03-04T00:00:00Z')
  const checked = (id: number, hours: number | null, rows = 50) => {
    const at = hours === null ? null : new Date(now - hours * 3_600_000).toISOString().replace('Z', '000Z')
    return { id, deletes_checked_at: at, live_rows: rows }
  }
  const checksOf = (lists: ReturnType<typeof checked>[], most = Number.POSITIVE_INFINITY) => {
    const checks = new DueChecks<ReturnType<typeof checked>>(
      { now, deletes: 72 * 3_600_000, pageSize: 100 },
      most,
    )
    for (const one of lists) checks.take(one)
    return checks
  }
  const chosen = (lists: ReturnType<typeof checked>[], budget?: number) =>
    checksOf(lists, budget)
      .chosen(budget)
      .map(({ id }) => id)

  it('begin half of the interval after the last one, the longest ago first, as many as requests suffice for', () => {
    const all = [checked(1, 40), checked(2, 70), checked(3, 30), checked(4, null), checked(5, 100)]
    expect(chosen(all)).toEqual([5, 4, 2, 1])
    expect(chosen([checked(1, 70, 60_000), checked(2, 60), checked(3, 50)], 10)).toEqual([1, 2])
    expect(chosen([checked(1, 70, 1_000_000), checked(2, 60)], 4)).toEqual([1])
    expect(chosen([checked(1, 70)], 0)).toEqual([])
    // A list whose larger pages never arrive takes more requests.
    const small = { ...checked(1, 70, 300), remembered: { readable: { size: 50, triedOn: '2026-03-03' } } }
    expect([checked(1, 70, 300), small].map((one) => chosen([one, checked(2, 60)], 8))).toEqual([[1, 2], [1]])
  })

  it('need as many requests an hour as make all of them in time, and are late before they are overdue', () => {
    const many = (n: number, hours: number | null) => Array.from({ length: n }, (_, id) => checked(id, hours))
    const need = (...lists: ReturnType<typeof checked>[]) => checksOf(lists).need.anHour
    // Two requests each, in 36 hours, of which 3.6 are spare.
    expect(need(...many(630, 36))).toBeCloseTo((2 * 630) / (36 - 3.6), 0)
    expect(need(...many(630, null))).toBeCloseTo((2 * 630) / (36 - 3.6), 0)
    expect(need(...many(63, 36), ...many(100, 70))).toBeGreaterThan(100)
    expect([need(checked(1, 30)), need(...many(10, 100))]).toEqual([0, 20])
    const late = [40, 53, null, 55, 71, 100].filter((hours) => checksOf([checked(1, hours)]).need.isLate)
    expect(late).toEqual([55, 71, 100])
  })
})

describe('the forecast', () => {
  const bound = { bound: 24 }
  const changing = (rate: number, target: number, resource = 'a') => ({ resource, rate, target })

  it('counts all lists, but only the changes of the judged ones', () => {
    const isJudged = ({ resource }: { readonly resource: string }): boolean => resource === 'judged'
    const lists = [changing(1, 1, 'judged'), changing(1, 1, 'other')]
    expect(requestsForShare(lists, 0.5, { ...bound, isJudged })).toBeCloseTo(1)
    // A busy one whose changes count would reach the share by itself.
    const busy = [changing(0.01, 6, 'judged'), changing(100, 0.25, 'other')]
    const judged = requestsForShare(busy, 0.5, { ...bound, isJudged })
    expect(requestsForShare(busy, 0.5, bound)).toBeLessThan(judged)
    expect(requestsForShare(busy, 0.95, { ...bound, isJudged: () => false })).toBeCloseTo(2 / 24)
  })

  it('needs no more requests for most changes than for all, which is one per target and list', () => {
    // Two busy lists, and forty quiet ones: the ranking would poll the busy ones four times per target.
    const quiet = Array.from({ length: 40 }, () => changing(0.01, 6))
    const lists = [changing(1, 0.25), changing(1, 0.25), ...quiet]
    expect(requestsForAll(lists, bound)).toBeCloseTo(2 * 4 + 40 / 6)
    expect(requestsForShare(lists, 0.95, bound)).toBe(requestsForAll(lists, bound))
  })

  it('of the requests for a share is that share', () => {
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

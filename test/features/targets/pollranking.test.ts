/** Which lists a round polls: the rules of docs/freshness.md, for rounds of any kind. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  boundOf,
  changeRate,
  chooseLists,
  meanRates,
  type PolledList,
  scoreOf,
  shareForUnread,
} from '../../../src/features/targets/pollranking.js'

interface Numbered extends PolledList {
  readonly id: number
}

const list = (id: number, more: Partial<PolledList> = {}): Numbered => ({
  ...{ id, resource: 'a', waited: 1, news: 0, hours: 24, events: 0, eventAges: 0 },
  ...more,
})
const ids = (chosen: readonly Numbered[]): number[] => chosen.map(({ id }) => id)
const targets: Record<string, number> = { a: 0.25, b: 6, c: 24 }
const targetOf = (resource: string): number => targets[resource] ?? 24
const rules = { targetOf, bound: 24, budget: undefined }

describe('the rate of a list', () => {
  it('is that of its resource while unknown, and its own afterwards', () => {
    const meanOf = meanRates([list(1, { news: 47.5, hours: 95 }), list(2, { news: 2, hours: 5 })])
    expect(meanOf('a')).toBeCloseTo(50 / 110)
    expect(meanOf('b')).toBeCloseTo(0.05)
    expect(changeRate({ news: 0, hours: 0 }, 0.25)).toBeCloseTo(0.25)
    expect(changeRate({ news: 400, hours: 100 }, 0.25)).toBeCloseTo(401 / 104)
  })

  it('decreases when polls find nothing', () => {
    expect(changeRate({ news: 0, hours: 200 }, 1)).toBeLessThan(changeRate({ news: 0, hours: 20 }, 1))
  })
})

it('a poll is worth the expected delay so far, in targets; announced changes count by their age', () => {
  expect(scoreOf({ waited: 2, eventAges: 0 }, 3, 6)).toBe(1)
  expect(scoreOf({ waited: 2, eventAges: 3 }, 3, 6)).toBe(1.5)
})

describe('a round', () => {
  it('polls the lists with the most expected waiting, counted in targets', () => {
    const busy = list(1, { news: 100, waited: 1 })
    const quiet = list(2, { waited: 1 })
    const slow = list(3, { resource: 'b', news: 100, waited: 2 })
    expect(ids(chooseLists([quiet, slow, busy], [], { ...rules, budget: 2 }).polled)).toEqual([1, 3])
  })

  it('leaves alone what was just read, unless an event waits', () => {
    const lists = [
      list(1, { resource: 'b', waited: 1.4, news: 50 }),
      list(2, { resource: 'b', waited: 1.6 }),
      list(3, { resource: 'b', waited: 0.1, events: 1, eventAges: 0.01 }),
    ]
    expect(ids(chooseLists(lists, [], rules).polled).toSorted()).toEqual([2, 3])
  })

  it('puts what has reached the bound before all others, up to half of it', () => {
    const old = [30, 26, 28].map((waited, id) => list(id, { resource: 'c', waited, hours: 9000 }))
    const busy = [7, 8, 9].map((id) => list(id, { news: 500, waited: 20 }))
    const { polled } = chooseLists([...busy, ...old], [], { ...rules, budget: 4 })
    expect(ids(polled)).toEqual([0, 2, 7, 8])
  })

  it('reads lists for the first time with a quarter of it, and with all of it if nothing else is due', () => {
    const busy = Array.from({ length: 80 }, (_, id) => list(id))
    const unread = Array.from({ length: 20 }, (_, id) => `never ${id}`)
    expect(chooseLists(busy, unread, { ...rules, budget: 60 })).toMatchObject({
      ...{ polled: { length: 45 }, unread: { length: 5 }, forUnread: 15 },
    })
    expect(chooseLists(busy.slice(0, 3), unread, { ...rules, budget: 8, turn: 1 })).toMatchObject({
      ...{ polled: { length: 3 }, unread: { length: 2 }, forUnread: 5 },
    })
    expect(chooseLists(busy, unread, { ...rules, budget: 200 })).toMatchObject({
      ...{ polled: { length: 80 }, unread: { length: 20 }, forUnread: 120 },
    })
    expect(chooseLists(busy, unread, rules).unread).toHaveLength(20)
  })

  it('where a quarter is too little for a first load, one round in several gets enough', () => {
    const busy = Array.from({ length: 80 }, (_, id) => list(id))
    const given = Array.from(
      { length: 10 },
      (_, turn) => chooseLists(busy, ['never'], { ...rules, budget: 8, turn }).forUnread,
    )
    expect(given).toEqual([8, 0, 0, 0, 0, 8, 0, 0, 0, 0])
    expect(shareForUnread(20, 0)).toBe(10)
    expect(shareForUnread(20, 1)).toBe(0)
    expect(shareForUnread(40, 1)).toBe(10)
    expect(shareForUnread(1, 1)).toBe(0)
  })

  it('without requests polls nothing', () => {
    expect(chooseLists([list(1)], ['never'], { ...rules, budget: 0 })).toEqual({
      polled: [],
      unread: [],
      forUnread: 0,
    })
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
        if (unread.length > 0) expect(taken).toBe(budget)
        else expect(taken).toBe(Math.min(budget, due.length))
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

  it('in a sufficient window, no list ever waits longer than the bound and a round', () => {
    const lives = fc.record({
      rates: fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: 10, maxLength: 40 }),
      neverRead: fc.double({ min: 0, max: 0.4, noNaN: true }),
      spare: fc.double({ min: 1, max: 3, noNaN: true }),
    })
    fc.assert(
      fc.property(lives, ({ rates, neverRead, spare }) => {
        expect(longestWait(rates, neverRead, spare)).toBeLessThanOrEqual(24 + 1 + 1e-9)
      }),
      { numRuns: 30 },
    )
  })
})

/** Hourly rounds for ten days, with twice the requests that the bound takes, and more. */
function longestWait(rates: readonly number[], neverRead: number, spare: number): number {
  const all = rates.map((rate, id) => ({
    ...list(id, { resource: id % 2 === 0 ? 'a' : 'b', waited: id % 20 }),
    rate,
  }))
  let unread = all.splice(0, Math.floor(all.length * neverRead))
  const budget = Math.ceil((2 * rates.length * spare) / 24)
  let longest = 0
  for (let hour = 0; hour < 240; hour++) {
    const chosen = chooseLists(all, unread, {
      targetOf,
      bound: boundOf(24, { lists: rates.length, windowAnHour: budget }),
      windowAnHour: budget,
      budget,
      turn: hour,
    })
    unread = unread.filter((one) => !chosen.unread.includes(one))
    for (const one of [...chosen.unread, ...chosen.polled])
      Object.assign(one, { news: one.news + one.rate * one.waited, hours: one.hours + one.waited, waited: 0 })
    all.push(...chosen.unread)
    for (const one of all) {
      longest = Math.max(longest, one.waited)
      Object.assign(one, { waited: one.waited + 1 })
    }
  }
  return longest
}

/** Hourly rounds for three days, over lists that were all read in the same hour. */
function waitAfterOneHour(rates: readonly number[], budget: number): number {
  const all = rates.map((rate, id) => ({ ...list(id, { resource: rate > 0 ? 'a' : 'c', waited: 0 }), rate }))
  const rules = { targetOf, bound: 24, windowAnHour: budget, budget }
  let longest = 0
  for (let hour = 0; hour < 72; hour++) {
    for (const one of all) one.waited += 1
    longest = Math.max(longest, ...all.map(({ waited }) => waited))
    for (const one of chooseLists(all, [], rules).polled)
      Object.assign(one, { news: one.news + one.rate * one.waited, hours: one.hours + one.waited, waited: 0 })
  }
  return longest
}

describe('the bound', () => {
  const old = Array.from({ length: 10 }, (_, id) => list(id, { resource: 'c', waited: 23.5, hours: 9000 }))
  const busy = Array.from({ length: 10 }, (_, id) => list(10 + id, { news: 500, waited: 20 }))
  const firstTen = (more: object): number =>
    chooseLists([...busy, ...old], [], { ...rules, windowAnHour: 100, budget: 10, ...more }).polled.filter(
      ({ waited }) => waited === 23.5,
    ).length

  it('is kept even if a window is spent early: what reaches it in this window is polled now', () => {
    expect(firstTen({})).toBe(0)
    expect(firstTen({ windowEndsIn: 0.9 })).toBe(5)
    expect(firstTen({ windowEndsIn: 0.2 })).toBe(0)
  })

  it('may take half of what the rate limit gives, also if events have used the rest', () => {
    expect(firstTen({ windowEndsIn: 0.9, lasts: 0.16 })).toBe(8)
    expect(firstTen({ windowEndsIn: 0.9, lasts: 1 })).toBe(10)
  })

  it('holds for lists that were all read in the same hour: they are polled in the hours before it', () => {
    const quiet = Array.from({ length: 200 }, () => 0)
    const busy = Array.from({ length: 60 }, () => 4)
    expect(waitAfterOneHour([...quiet, ...busy], 40)).toBeLessThanOrEqual(24)
  })

  it('is as configured while that takes half of the window, and longer for all if it takes more', () => {
    expect(boundOf(24, { lists: 1200, windowAnHour: 100 })).toBe(24)
    expect(boundOf(24, { lists: 2400, windowAnHour: 100 })).toBe(48)
    expect(boundOf(24, { lists: 1_000_000, windowAnHour: undefined })).toBe(24)
  })
})

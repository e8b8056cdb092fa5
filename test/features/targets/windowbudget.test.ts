/** What a round may plan to send, and when it ends. */
import { describe, expect, it } from 'vitest'
import {
  afterPolls,
  budgetEnd,
  budgetOf,
  reservedForChecks,
  roundEnd,
  windowAnHour,
} from '../../../src/features/targets/windowbudget.js'

const minute = 60_000
const hour = 60 * minute
const window = { limit: 1000, remaining: 400, resetsAt: 30_000, length: minute }

describe('the budget of a round', () => {
  it('is what is left of this window and the complete ones until the end, minus a tenth', () => {
    expect(budgetOf(window, { now: 0, until: 4 * minute, reserve: 0 })).toBe((400 + 3 * 1000) * 0.9)
  })

  it('leaves the reserve of each window to others', () => {
    expect(budgetOf(window, { now: 0, until: 2 * minute, reserve: 0.25 })).toBe((150 + 750) * 0.9)
    expect(budgetOf({ ...window, remaining: 200 }, { now: 0, until: 30_000, reserve: 0.25 })).toBe(0)
  })

  it('is a part of a window that outlasts the round', () => {
    const long = { limit: 6000, remaining: 6000, resetsAt: hour, length: hour }
    expect(budgetOf(long, { now: 0, until: 6 * minute, reserve: 0 })).toBe(540)
    expect(budgetOf({ ...long, remaining: 100 }, { now: hour - minute, until: hour, reserve: 0 })).toBe(90)
  })

  it('is zero if the round is over', () => {
    expect(budgetOf(window, { now: 10 * minute, until: minute, reserve: 0 })).toBeGreaterThanOrEqual(0)
  })

  it('shows what an hour allows', () => {
    expect(windowAnHour(window, 0.1)).toBe(54_000)
  })
})

describe('a round ends', () => {
  it('with its time limit, whatever its job plans', () => {
    expect(roundEnd(0, { limit: 4 * minute, next: [minute] })).toBe(4 * minute)
  })

  it('else at the next planned instant, or at the one after it if the job started late', () => {
    expect(roundEnd(0, { next: [5 * minute, 10 * minute] })).toBe(5 * minute)
    expect(roundEnd(4 * minute, { next: [5 * minute, 10 * minute] })).toBe(10 * minute)
  })

  it('else after an hour', () => {
    expect(roundEnd(minute, {})).toBe(minute + hour)
  })
})

describe('the budget of a round reaches', () => {
  const next = [15 * minute, 30 * minute]

  it('to the next planned instant, even if a time limit ends the round sooner', () => {
    expect(budgetEnd(0, { endsAt: 4 * minute, resetsAt: hour, next })).toBe(15 * minute)
    expect(budgetEnd(0, { endsAt: 4 * minute, resetsAt: 9 * minute, next })).toBe(9 * minute)
  })

  it('only to its end if its job has no plan, or if the window ends sooner', () => {
    expect(budgetEnd(0, { endsAt: 4 * minute, resetsAt: hour })).toBe(4 * minute)
    expect(budgetEnd(0, { endsAt: 4 * minute, resetsAt: 3 * minute, next })).toBe(4 * minute)
  })
})

describe('checks of deletions', () => {
  it('get what makes them in time, up to half of the budget, and at least a tenth once one is late', () => {
    const reserved = (budget: number, needed: number, isLate = false) =>
      reservedForChecks(budget, { needed, isLate })
    expect(reserved(100, 0)).toBe(0)
    expect(reserved(100, 0, true)).toBe(10)
    expect(reserved(100, 3)).toBe(3)
    expect(reserved(100, 23.5, true)).toBe(24)
    expect(reserved(100, 80)).toBe(50)
    expect(reserved(0, 80, true)).toBe(0)
  })

  it('get all that polls left, and what is reserved for them even if polls took more', () => {
    expect(afterPolls(100, 90, 10)).toBe(10)
    expect(afterPolls(100, 130, 10)).toBe(10)
    expect(afterPolls(100, 20, 10)).toBe(80)
  })
})

/** Checks of deletions: which are due, which of them fit in, and how many requests all of them take. */
import { expect, it } from 'vitest'
import { DueChecks } from '../../../src/features/targets/checkround.js'

const hour = 3_600_000
const now = Date.parse('2026-03-04T00:00:00Z')
const list = (id: number, hours: number | null, rows: number | null = 50) => ({
  id,
  deletes_checked_at:
    hours === null ? null : `${new Date(now - hours * hour).toISOString().slice(0, 23)}000Z`,
  live_rows: rows,
})
const checksOf = (lists: ReturnType<typeof list>[], most = Number.POSITIVE_INFINITY) => {
  const checks = new DueChecks<(typeof lists)[number]>({ now, deletes: 72 * hour, pageSize: 100 }, most)
  for (const one of lists) checks.take(one)
  return checks
}
const chosen = (lists: ReturnType<typeof list>[], budget?: number) =>
  checksOf(lists, budget)
    .chosen(budget)
    .map(({ id }) => id)

it('those not checked for longest come first, from half of the interval on', () => {
  expect(chosen([list(1, 40), list(2, 70), list(3, 30), list(4, null), list(5, 100)])).toEqual([5, 4, 2, 1])
})

it('as many as the requests suffice for, given the rows of each', () => {
  expect(chosen([list(1, 70, 60_000), list(2, 60), list(3, 50)], 10)).toEqual([1, 2])
  expect(chosen([list(1, 70), list(2, 60, 1_000_000), list(3, 50)], 4)).toEqual([1])
  expect(chosen([list(1, 70, 1_000_000), list(2, 60)], 4)).toEqual([1])
  expect(chosen([list(1, 70)], 0)).toEqual([])
  // A list whose larger pages never arrive takes more requests.
  const small = { ...list(1, 70, 300), remembered: { readable: { size: 50, triedOn: '2026-03-03' } } }
  expect([list(1, 70, 300), small].map((first) => chosen([first, list(2, 60)], 8))).toEqual([[1, 2], [1]])
})

it('tell how many requests an hour make all of them in time', () => {
  const need = (...lists: ReturnType<typeof list>[]) => checksOf(lists).need.anHour
  const many = (n: number, hours: number | null) => Array.from({ length: n }, (_, id) => list(id, hours))
  expect(need(list(1, 30))).toBe(0)
  // Two requests each, in 36 hours, of which 3.6 are spare.
  expect(need(...many(630, 36))).toBeCloseTo((2 * 630) / (36 - 3.6), 0)
  expect(need(...many(630, null))).toBeCloseTo((2 * 630) / (36 - 3.6), 0)
  expect(need(...many(630, 36), ...many(10, 54))).toBeCloseTo((2 * 640) / (36 - 3.6), 0)
  expect(need(...many(63, 36), ...many(100, 70))).toBeGreaterThan(100)
  expect(need(...many(10, 100))).toBe(20)
})

it('tell whether one of them is late', () => {
  const isLate = (hours: number | null) => checksOf([list(1, hours)]).need.isLate
  expect([40, 53, null].map(isLate)).toEqual([false, false, false])
  expect([55, 71, 100].map(isLate)).toEqual([true, true, true])
})

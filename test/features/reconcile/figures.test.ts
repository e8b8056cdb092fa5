/** The cost of counting, on simulated cursors of any size (bench/reconcile/simulated.ts; docs/reconcile.md has more of them). */
import { describe, expect, it } from 'vitest'
import { SimulatedCursor } from '../../../bench/reconcile/simulated.js'
import { fullCost } from '../../../src/engine/compare/comparisoncost.js'
import { cellsOf } from '../../../src/engine/compare/histogram.js'
import { lastPage } from '../../../src/engine/list/count.js'
import { isWhole } from '../../support/harness/size.js'
import { at } from '../../support/world/notes.js'
import { randomFrom } from '../../support/world/random.js'

/** The request for the authorizations, and the walk before it. */
const before = 2

function pick(random: () => number, records: number, count: number): number[] {
  const ids = new Set<number>()
  while (ids.size < count) ids.add(Math.floor(random() * records))
  return [...ids]
}

describe('counting', () => {
  it('60,000 records without differences cost at most 10 requests in total', async () => {
    const found = await new SimulatedCursor(60_000, {}, randomFrom(1)).compare()
    expect(found).toMatchObject({ method: 'counting', isEven: true })
    expect(found.requests + before).toBeLessThanOrEqual(10)
  })

  it('a million with 3 deleted and 2 never stored cost at most 120', async () => {
    const seeds = isWhole() ? 60 : 10
    let complete = 0
    for (let seed = 1; seed <= seeds; seed++) {
      const random = randomFrom(seed)
      const ids = pick(random, 1_000_000, 5)
      const differences = { deleted: ids.slice(0, 3), neverStored: ids.slice(3) }
      const cursor = new SimulatedCursor(1_000_000, differences, random)
      const found = await cursor.compare()
      expect(found).toMatchObject({ method: 'counting', isEven: true })
      expect(found.requests + before, `seed ${seed}`).toBeLessThanOrEqual(120)
      // A record that was never stored and a deletion cancel out between two cut points; never one without the other.
      expect([0, 2, 4]).toContain(cursor.left(ids))
      if (cursor.left(ids) === 0) complete++
    }
    expect(complete).toBeGreaterThan(0.7 * seeds)
  })

  it.each([700, 5000, 80_000, 1_000_000])(
    'finds every deletion among %i, at no more than twice the cost of a listing',
    async (records) => {
      for (let seed = 1; seed <= (records > 100_000 ? 6 : 25) / (isWhole() ? 1 : 5); seed++) {
        const random = randomFrom(seed)
        const ids = pick(random, records, Math.floor(random() ** 3 * Math.min(1500, records / 4)))
        const cursor = new SimulatedCursor(records, { deleted: ids }, random)
        const found = await cursor.compare()
        expect(found.requests - found.items, `seed ${seed}`).toBeLessThanOrEqual(2 * fullCost(records) + 1)
        if (found.method === 'counting') expect(cursor.left(ids)).toBe(0)
      }
    },
  )

  it('what one run misses, another finds: cut points are different each time', async () => {
    let found = 0
    for (let seed = 1; seed <= 40; seed++) {
      const cursor = new SimulatedCursor(
        100_000,
        { deleted: [50_000], neverStored: [53_000] },
        randomFrom(seed),
      )
      await cursor.compare()
      if (cursor.left([50_000, 53_000]) === 0) found++
    }
    expect(found).toBeGreaterThan(3)
    expect(found).toBeLessThan(40)
  })
})

it('cells of a ledger split no second', () => {
  const times = Array.from({ length: 5000 }, (_, i) => at(Math.floor(i ** 1.3 / 40), i % 1_000_000)).sort()
  for (const { end } of cellsOf(times, 16)) expect(end).toMatch(/\.999999Z$/)
  expect(cellsOf([at(1), at(1, 5), at(1, 9), at(2)], 1).map(({ count }) => count)).toEqual([3, 1])
})

it('the last page shows the end of a list completely, with some page size', () => {
  for (let total = 1; total < 3000; total += 7)
    for (const records of [1, 10, 40, 61]) {
      const place = lastPage(total, records)
      if (!place) continue
      const shown = total - (place.page - 1) * place.perPage
      expect(shown).toBeLessThanOrEqual(place.perPage)
      expect(place.page === 1 || shown >= records).toBe(true)
    }
  const missing = Array.from({ length: 3000 }, (_, i) => lastPage(5000 + i, 61)).filter((place) => !place)
  expect(missing.length).toBeLessThan(60)
})

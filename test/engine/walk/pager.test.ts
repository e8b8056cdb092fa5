/** A pager enters no page that arrived before a later response. */
import { expect, it } from 'vitest'
import { Pager } from '../../../src/engine/walk/pager.js'
import type { WalkPage } from '../../../src/engine/walk/types.js'

const [records, perPage] = [400, 10]

/** A list that doesn't change; `payload` numbers the responses. */
function list() {
  const fetched: string[] = []
  const fetch = async (page: number, size: number): Promise<WalkPage<number>> => {
    fetched.push(`${page} of ${size}`)
    const first = records - (page - 1) * size
    const observed = Array.from({ length: Math.min(size, first) }, (_, i) => ({
      id: first - i,
      updatedAt: `2026-01-01T00:00:00.${String(first - i).padStart(6, '0')}Z`,
      createdAt: null,
    }))
    const totalPages = Math.ceil(records / size)
    return { total: records, page, totalPages, records: size, observed, payload: fetched.length }
  }
  return { fetched, fetch }
}

it('uses a page that has already arrived within a burst, and never after it', async () => {
  const { fetched, fetch } = list()
  const taken: WalkPage<number>[] = []
  const take = async (page: WalkPage<number>): Promise<number> => {
    taken.push(page)
    return 0
  }
  const pager = new Pager<number>({
    perPage,
    isAbandoned: false,
    isAtEnd: false,
    fetch,
    readAhead: () => 4,
    next: take,
    burst: async (page) => void taken.push(page),
    observe: () => {},
    vouch: () => {},
    stopProgress: () => {},
    steppedBack: () => {},
  })
  pager.showed(await fetch(1, perPage))
  pager.has(2, await fetch(2, perPage))
  await pager.run(2, records / perPage)
  expect(taken.map(({ page }) => page)).toEqual(Array.from({ length: 39 }, (_, i) => i + 2))
  expect(fetched.filter((request) => request === `2 of ${perPage}`)).toHaveLength(1)

  const before = fetched.length
  await pager.runUntil('2026-01-01T00:00:00.000395Z', 40, take)
  expect(taken.at(-1)?.page).toBe(2)
  expect(taken.at(-1)?.payload).toBeGreaterThan(before)
})

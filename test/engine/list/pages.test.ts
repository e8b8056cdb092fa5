/** A reader takes no page that arrived before a later response, and nothing is requested that it doesn't wait for. */
import { expect, it } from 'vitest'
import { listHeadOf, pages, placeAt } from '../../../src/engine/list/pages.js'
import type { WalkPage } from '../../../src/engine/list/types.js'

const [records, perPage] = [400, 10]

/** A list that doesn't change; `payload` numbers the responses. */
function listOf(ahead: number) {
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
  return { fetched, fetch, readAhead: () => ahead }
}

it('uses a page that has already arrived within a burst, and never after it', async () => {
  const list = listOf(4)
  const place = { ...placeAt<number>(perPage), next: 2, last: records / perPage, total: records }
  place.head = listHeadOf(await list.fetch(1, perPage))
  place.ready = { number: 2, page: list.fetch(2, perPage) }
  const taken: number[] = []
  for await (const step of pages(list, place)) if (step.is === 'together') taken.push(step.page.page)
  expect(taken).toEqual(Array.from({ length: 39 }, (_, i) => i + 2))
  expect(list.fetched.filter((request) => request === `2 of ${perPage}`)).toHaveLength(1)

  const before = list.fetched.length
  place.next = 2
  for await (const step of pages(list, place)) {
    if (!('page' in step)) continue
    expect(step.page).toMatchObject({ page: 2 })
    expect(step.page.payload).toBeGreaterThan(before)
    break
  }
})

it.each([
  [0, 3],
  [1, 4],
])('requests nothing that a reader that stops may not need, reading %i ahead', async (ahead, requests) => {
  const list = listOf(ahead)
  const place = { ...placeAt<number>(perPage), last: records / perPage, total: records }
  for await (const step of pages(list, place)) if ('page' in step && step.page.page === 3) break
  expect(list.fetched).toHaveLength(requests)
})

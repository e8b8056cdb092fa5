import { addMicros, endOfSecond } from '../timestamp.js'
import { epoch } from './books.js'
import type { WalkPage } from './walk.js'

/** How a cursor's list is reached: one page of what is newer than t. */
export interface ListPort<P> {
  fetch(after: string, page: number, perPage: number): Promise<WalkPage<P>>
}

/** Where counting means the same on both sides, whatever precision the source prints (design.md §2). */
export const cutPoint = (t: string): string => (t <= epoch ? epoch : endOfSecond(t))

/** The cut point in front of an instant's second. */
export const cutBefore = (t: string): string =>
  t <= epoch ? epoch : cutPoint(addMicros(`${t.slice(0, 19)}.000000Z`, -1n))

/** How many records are newer than t: the question that the API can answer, for one request. */
export const countAfter = async <P>(port: ListPort<P>, t: string): Promise<number> =>
  (await port.fetch(t, 1, 1)).total

/** The page that shows the n-th record of a list, in pages of that size. */
export const pageOf = (n: number, perPage: number): number => Math.max(1, Math.ceil(n / perPage))

/**
 * A page size by which the last page of a list holds at least so many records, and the number of that page: one
 * answer that shows the end of the list whole. undefined where there is none.
 */
export function lastPage(total: number, records: number): { page: number; perPage: number } | undefined {
  for (let perPage = 100; perPage >= Math.max(1, records); perPage--) {
    const page = Math.max(1, Math.ceil(total / perPage))
    if (page === 1 || total - (page - 1) * perPage >= records) return { page, perPage }
  }
  return undefined
}

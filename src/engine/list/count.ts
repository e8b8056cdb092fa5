import type { WalkPage } from './types.js'

/**
 * How many records are newer than exactly t, at the cost of one request (docs/dev/architecture.md, What else the engine rests
 * on). Where both sides count, t has to be a cut point; `CursorList.countAfter` makes one of any instant.
 */
export const countAfter = async <P>(
  list: { fetch(after: string, page: number, perPage: number): Promise<WalkPage<P>> },
  t: string,
): Promise<number> => (await list.fetch(t, 1, 1)).total

/** By how much a total fell from one response to the next. */
export const fallen = (before: number, total: number): number => Math.max(0, before - total)

/** The page that shows the n-th record of a list, for that page size. */
export const pageOf = (n: number, perPage: number): number => Math.max(1, Math.ceil(n / perPage))

/**
 * A page size, at most `most`, that puts at least `records` records on the last page of a list, and that page's number:
 * one response then shows the whole end of the list. A full page wouldn't show that it is the last. undefined if no
 * page size works.
 */
export function lastPage(
  total: number,
  records: number,
  most = 100,
): { page: number; perPage: number } | undefined {
  for (let perPage = most; perPage >= Math.max(1, records); perPage--) {
    const page = pageOf(total, perPage)
    const rest = total - (page - 1) * perPage
    if (rest < perPage && (page === 1 || rest >= records)) return { page, perPage }
  }
  return undefined
}

/**
 * The end of a list, as its pages tell it. A total may be capped or estimated, and a page may be shorter than asked, so
 * that a list ends with a page that is not full, or with one that shows nothing new. Walk (walk.ts) reads on with it.
 */
import { lookBehind } from './behind.js'
import type { PlainBegin } from './plainbegin.js'
import type { Reading } from './reading.js'

/**
 * Reads on behind the end that the total tells, until a page ends the list. Returns where to go on if the total is not
 * true. One request more, where the last page is full; also before a surplus is settled.
 */
export async function readToEnd<P>(
  reading: Reading<P>,
  from: number | undefined,
): Promise<PlainBegin<P> | undefined> {
  const { walk, own, perPage, pager } = reading
  const isOver = (): boolean => reading.isAbandoned || reading.isAtEnd
  for (let behind = from; behind !== undefined && !isOver(); behind = reading.behind) {
    if (behind <= reading.deepest) {
      // The total fell below what was read: these pages are read again, before one can be the last.
      await pager.run(behind, behind)
      continue
    }
    const { seen } = reading
    const next = await lookBehind(
      walk.port,
      { page: behind, perPage },
      () => seen,
      (page) => reading.isShownAgain(page),
    )
    if (next?.isOverrun) return { from: behind, pages: [next.page], perPage, ceiling: own.ceiling, seen }
    if (!next) {
      walk.search.isEndSeen = true
      return undefined
    }
    pager.has(behind, next.page)
    await pager.run(behind, Math.max(behind, next.page.totalPages))
  }
  return undefined
}

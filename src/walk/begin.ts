import { Book } from './books.js'
import { ceilingOf } from './clocks.js'
import { countOdd, nothingOdd } from './oddities.js'
import { isOutOfOrder } from './order.js'
import { readPlainly } from './plain.js'
import { Reading, refuseLoss } from './reading.js'
import type { WalkOutcome, WalkPage } from './types.js'
import type { WalkState } from './walkstate.js'

/**
 * Begins a reading with the first page of the list, and reads the list to its end. A list of one page needs no reading:
 * the page proves itself, and the outcome is the answer.
 */
export async function beginReading<P>(
  walk: WalkState<P>,
  number: number,
  perPage: number,
  joint: Book | undefined,
): Promise<Reading<P> | WalkOutcome> {
  const { floor, expected = 0, nextFloor } = walk.plan
  const first = await firstPage(walk, perPage)
  const { total, sightings } = first
  if (first.isUncounted) return readPlainly(walk, 'no_count', { from: 1, page: first })
  refuseLoss(total, expected, 'rows')
  if (isAllShown(walk, first)) return single(walk, first, number)
  // Its books cannot close. A whole load looks once more whether they do by now.
  const { known, looksBeyond } = walk.plan
  if (known?.isUnsteady && !looksBeyond) return readPlainly(walk, 'no_count', { from: 1, page: first })
  if (isOutOfOrder(sightings)) return readPlainly(walk, 'order', { from: 1, page: first })
  const ceiling = ceilingOf(first) ?? floor
  const lateFrom = nextFloor?.(ceiling) ?? ceiling
  const shows = (time: string): boolean =>
    sightings.some(({ updatedAt }) => updatedAt !== '' && updatedAt <= time)
  const isZoneSeen = lateFrom >= ceiling || shows(lateFrom)
  const isTopSeen = ceiling === floor || shows(ceiling)
  const own = new Book({ floor, total, ceiling, lateFrom, isZoneSeen, isTopSeen })
  if (ceiling > walk.newest) walk.newest = ceiling
  const reading = new Reading(walk, number, perPage, own, joint ?? own)
  reading.pager.showed(first)
  await reading.next(first)
  await reading.pager.run(2, first.totalPages)
  return reading
}

/** One answer without a total may be a slip; two are how the source answers. */
async function firstPage<P>({ port, plan }: WalkState<P>, perPage: number): Promise<WalkPage<P>> {
  const page = await port.fetch(1, perPage)
  return page.isUncounted && !plan.known?.isUncounted ? port.fetch(1, perPage) : page
}

/** Whether the page shows the whole list, but for records that earlier walks know to be counted and not shown. */
function isAllShown<P>({ plan }: WalkState<P>, { total, totalPages, records }: WalkPage<P>): boolean {
  return totalPages <= 1 && total - records <= (plan.known?.hidden ?? 0)
}

async function single<P>(walk: WalkState<P>, page: WalkPage<P>, number: number): Promise<WalkOutcome> {
  const { total, sightings, holes = [] } = page
  const distinct = new Set(sightings.map(({ id }) => id)).size
  const { repeated: twice } = countOdd(sightings.map(({ id }) => id))
  const isUnordered = isOutOfOrder(sightings)
  const hidden = Math.max(0, total - page.records)
  const isUncounted = distinct - twice > total
  const isOdd = isUnordered || isUncounted || twice + hidden + holes.length > 0
  walk.noteStamps(page)
  const outcome = walk.tell({
    ...verdictOnPage({ isAgain: number > 1, isUnordered, isUncounted, twice, hidden }),
    ceiling: ceilingOf(page),
    books: { first: total, last: total, distinct, entered: 0, fallen: 0 },
    ...(isOdd && { finding: { ...nothingOdd, isUnordered, isUncounted, twice, hidden, holes } }),
  })
  await walk.port.store(page, { progress: null, outcome })
  return outcome
}

interface OnePage {
  readonly isAgain: boolean
  readonly isUnordered: boolean
  readonly isUncounted: boolean
  readonly twice: number
  readonly hidden: number
}

function verdictOnPage({
  isAgain,
  isUnordered,
  isUncounted,
  twice,
  hidden,
}: OnePage): Pick<WalkOutcome, 'verdict' | 'reason'> {
  if (isUncounted) return { verdict: 'listed', reason: 'no_count' }
  if (hidden > 0) return { verdict: 'unproven', reason: 'counted_not_shown' }
  if (isUnordered) return { verdict: 'repaired', reason: 'order' }
  if (twice > 0) return { verdict: 'repaired', reason: 'listed_twice' }
  return isAgain ? { verdict: 'repaired', reason: 'read_again' } : { verdict: 'proven', reason: null }
}

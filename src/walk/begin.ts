import { Book } from './books.js'
import { Reading, refuseLoss, type WalkState } from './reading.js'
import { newest } from './sightings.js'
import type { WalkOutcome, WalkPage } from './types.js'

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
  const first = await walk.port.fetch(1, perPage)
  const { total, sightings } = first
  refuseLoss(total, expected)
  if (first.totalPages <= 1 && first.records >= total) return single(walk, first, number)
  const ceiling = newest(sightings) || floor
  const lateFrom = nextFloor?.(ceiling) ?? ceiling
  const isZoneSeen =
    lateFrom >= ceiling || sightings.some(({ updatedAt }) => updatedAt !== '' && updatedAt <= lateFrom)
  const own = new Book({ floor, total, ceiling, lateFrom, isZoneSeen })
  const reading = new Reading(walk, number, perPage, own, joint ?? own)
  reading.pager.showed(first)
  await reading.next(first)
  await reading.pager.run(2, first.totalPages)
  return reading
}

async function single<P>(walk: WalkState<P>, page: WalkPage<P>, number: number): Promise<WalkOutcome> {
  const { total, sightings } = page
  const distinct = new Set(sightings.map(({ id }) => id)).size
  const outcome: WalkOutcome = {
    verdict: number > 1 ? 'repaired' : 'proven',
    ceiling: newest(sightings) || null,
    books: { first: total, last: total, distinct, entered: 0, fallen: 0 },
    reason: number > 1 ? 'read_again' : null,
  }
  await walk.port.store(page, { progress: null, outcome })
  return outcome
}

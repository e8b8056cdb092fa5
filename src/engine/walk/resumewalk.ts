import { Book } from './books.js'
import { believedUntil } from './clocks.js'
import { newest } from './observed.js'
import { listHeadOf } from './pager.js'
import { isLoss, Reading } from './reading.js'
import { reached } from './walkprogress.js'
import type { WalkState } from './walkstate.js'

/**
 * Resumes the reading of an earlier process, and reads the list to its end. undefined: there is none to resume, or so
 * many records are gone that a new walk is safer.
 */
export async function resumeReading<P>(walk: WalkState<P>, usual: number): Promise<Reading<P> | undefined> {
  const { port, plan } = walk
  const { floor, nextFloor } = plan
  if (plan.resume?.progress.floor !== floor) return undefined
  // The total comes first: a record deleted after this response shows as a fall in the next page, and the walk steps back.
  const head = await port.fetch(1, 1)
  const { total } = head
  const progress = reached(plan.resume.progress, listHeadOf(head))
  const { boundary, ceiling, size: perPage = usual } = progress
  if (perPage < usual) walk.size.learn(perPage)
  // A ceiling in the future tells nothing of what changed since the walk began.
  if (ceiling > believedUntil(head.clocks)) return undefined
  const newer = await port.countAfter(boundary)
  if (isLoss(total, progress.last)) return undefined
  const book = Book.restored(floor, {
    ...plan.resume,
    progress,
    lateFrom: nextFloor?.(ceiling) ?? ceiling,
  })
  walk.newest = ceiling
  const reading = new Reading(walk, 1, perPage, book, book, progress)
  if (book.response(total, []).fell > 0) reading.hasSteppedBack = true
  // The records behind the last page read are behind it still, unless they were deleted or moved to the top. So the
  // place counted from the end of the list is at worst too early. Records newer than the boundary were read in any case.
  const read = Math.max(newer, total - progress.below)
  const pages = Math.max(1, Math.ceil(Math.max(total, newer) / perPage))
  reading.pager.showed(head)
  const from = await reach(reading, Math.min(Math.floor(read / perPage) + 1, pages), boundary)
  port.note('Resuming a walk', { from, boundary })
  await reading.pager.run(from, pages)
  return reading
}

/**
 * The two counts are of two moments, and the list may have moved between them. So the reading goes back to the first
 * page that begins no later than the boundary.
 */
async function reach<P>(reading: Reading<P>, from: number, boundary: string): Promise<number> {
  for (let k = from; ; k--) {
    const page = await reading.fetch(k, reading.perPage)
    if (k > 1 && newest(page.sightings) < boundary) continue
    reading.pager.has(k, page)
    return k
  }
}

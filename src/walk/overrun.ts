import { isWholeFrom } from './cutpoint.js'
import type { Reading } from './reading.js'
import type { WalkPage } from './types.js'

/** A total that is a multiple of this may be where counting ends. */
const round = 1000

/**
 * The page behind the last one, if it shows records that the total leaves out: a count that is capped or estimated looks
 * like any other where it ends with a full page. One request more, only for a list that does, and only in a walk that
 * reads all of it or a round number of records.
 */
export async function pageBeyond<P>({
  walk,
  own,
  number,
  perPage,
}: Reading<P>): Promise<WalkPage<P> | undefined> {
  const { floor, known } = walk.plan
  const isFull = own.last > perPage && own.last % perPage === 0
  const isSuspect = known?.isUncounted || isWholeFrom(floor) || own.last % round === 0
  if (!isFull || !isSuspect || (number > 1 && !known?.isUncounted)) return undefined
  const page = await walk.port.fetch(own.last / perPage + 1, perPage)
  // Records that were pushed back meanwhile are known, and the total counts them.
  const isNews = page.total === own.last && page.sightings.some(({ id }) => !own.has(id))
  return isNews ? page : undefined
}

import type { PlainBegin } from './plain.js'
import type { Reading } from './reading.js'

/**
 * The page behind the last one, if it shows records that the total leaves out: a count that is capped or estimated looks
 * like any other where it ends with a full page. One request more, in the first load of a list that does. From there the
 * list is read on.
 */
export async function pageBeyond<P>({
  walk,
  own,
  number,
  perPage,
  isAbandoned,
}: Reading<P>): Promise<PlainBegin<P> | undefined> {
  const { looksBeyond = false, known } = walk.plan
  const isFull = own.last > perPage && own.last % perPage === 0
  if (isAbandoned || !isFull || !(known?.isUncounted || (looksBeyond && number === 1))) return undefined
  const page = await walk.port.fetch(own.last / perPage + 1, perPage)
  // Records that were pushed back meanwhile are known, and the total counts them.
  const isNews = page.total === own.last && page.sightings.some(({ id }) => !own.has(id))
  const { ceiling } = own
  return isNews ? { from: page.page, page, ceiling, shown: own.balance().distinct } : undefined
}

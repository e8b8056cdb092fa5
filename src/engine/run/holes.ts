/*
 * Holes: records that no answer shows, since each answer with them fails. Where they stand is told by the records
 * around them. CursorList marks them on its pages; an incremental walk tries a remembered hole again.
 */
import { fromMicros } from '../base/timestamp.js'
import type { Hole } from '../walk/anomalies.js'
import { cutBefore } from '../walk/cutpoint.js'
import type { Sighting } from '../walk/observed.js'
import type { WalkPage } from '../walk/types.js'
import type { IsolatedPage } from './isolate.js'
import { timeOf } from './observe.js'
import type { Fetched, FlatPage } from './store.js'

/** The page with a sighting for each record that is missing from it, and the holes that they make. */
export function withHoles<P extends FlatPage>(
  page: WalkPage<Fetched<P>>,
  isolated: IsolatedPage,
  after: string,
): WalkPage<Fetched<P>> {
  const { unread, around } = isolated
  const read = [...page.sightings]
  const sightings: Sighting[] = []
  const holes: Hole[] = []
  const missing = new Set(unread)
  const first = timeOf(around.before)
  for (let place = 0; read.length > 0 || missing.has(place); place++) {
    const sighting = missing.has(place) ? undefined : read.shift()
    if (sighting) sightings.push(sighting)
    else if (!missing.has(place - 1)) {
      let records = 1
      while (missing.has(place + records)) records++
      const newer = sightings.at(-1)?.updatedAt || first
      const older = read[0]?.updatedAt || timeOf(around.behind) || after
      holes.push({ after: older, until: newer || lastSecond(isolated), records })
      sightings.push(...inHole(newer || older, `${older} ${newer}`, records))
    }
  }
  return { ...page, records: page.records + unread.length, sightings, holes }
}

/**
 * Where nothing newer than the record is known: it was stamped before the source answered. Another record may yet come
 * in the second of the answer, so that the end of the second before is taken: the hole is met once more at worst.
 */
const lastSecond = ({ serverDate, startedAt }: IsolatedPage): string =>
  cutBefore(serverDate === undefined ? startedAt : fromMicros(serverDate))

/** The books count what the total counts: each record of a hole stands there under a text that stays the same. */
const inHole = (updatedAt: string, name: string, records: number): Sighting[] =>
  Array.from({ length: records }, (_, i) => ({ id: `~${name} ${i}`, updatedAt, createdAt: null }))

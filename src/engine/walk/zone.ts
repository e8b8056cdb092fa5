/**
 * Reads the late zone once more where it is larger than a page and the list has stirred (docs/guarantees.md, The verdict
 * of a walk). A record that slipped or came late while the zone was read the first time shows itself now.
 */
import type { ClosingPage } from './closebooks.js'
import type { Sighting } from './observed.js'
import type { Reading } from './reading.js'
import type { WalkPage } from './types.js'

/** Readings of a zone that keeps moving. */
const attempts = 5
/** Readings that bring nothing new, where none can show the zone whole. */
const enough = 3

/**
 * Tells the books whether the zone agrees with what was seen. The first page of the zone is the one that has closed the
 * reading. Returns the last page, which is not stored yet.
 */
export async function readZone<P>(reading: Reading<P>, closing: ClosingPage<P>): Promise<WalkPage<P>> {
  const books = reading.books.filter((book) => book.needsZone && !book.isShort)
  const from = books.reduce(
    (low, { lateFrom }) => (lateFrom < low ? lateFrom : low),
    books[0]?.lateFrom ?? '',
  )
  let { page, fresh } = closing
  let quiet = 0
  for (let attempt = 1; books.length > 0 && attempt <= attempts; attempt++) {
    const zone = await readOnce(reading, page, from)
    quiet = fresh + zone.unseen === 0 ? quiet + 1 : 0
    // Where ties hide records from each reading of the zone, several that bring nothing new have to do.
    for (const book of books)
      book.zoneAgrees = quiet > 0 && (zone.isShown || (quiet >= enough && book.isEven))
    if (books.every((book) => book.zoneAgrees) || attempt === attempts) return zone.last
    await reading.walk.port.store(zone.last, {})
    page = await reading.fetch(1, reading.perPage)
    fresh = enter(reading, page)
  }
  return page
}

/** Takes a page of the zone into the books. Returns how many records no reading had shown; a fall counts as one. */
function enter<P>(reading: Reading<P>, page: WalkPage<P>): number {
  const unseen = page.sightings.filter(({ id }) => !reading.joint.has(id)).length
  return unseen + (reading.see(page).fell > 0 ? 1 : 0)
}

async function readOnce<P>(reading: Reading<P>, first: WalkPage<P>, from: string) {
  const ids = new Set<Sighting['id']>()
  let [page, unseen] = [first, 0]
  for (let number = 1; ; number++) {
    const zone = page.sightings.filter(({ updatedAt }) => updatedAt > from)
    for (const { id } of zone) ids.add(id)
    const isEnd = zone.length < page.sightings.length || page.sightings.length === 0
    if (isEnd || number >= page.totalPages) {
      // Ties within the zone may hide a record from both readings: then the distinct ids are fewer than their places.
      const places = (number - 1) * reading.perPage + zone.length - (page.total - first.total)
      return { last: page, unseen, isShown: ids.size === places }
    }
    await reading.walk.port.store(page, {})
    page = await reading.fetch(number + 1, reading.perPage)
    unseen += enter(reading, page)
  }
}

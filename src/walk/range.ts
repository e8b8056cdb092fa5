import type { Int64 } from '../../schema/resource.js'
import { forever } from '../compare/histogram.js'
import { countAfter, type ListPort, lastPage, pageOf } from './count.js'
import { type PagePlace, Pager } from './pager.js'
import type { WalkPage } from './walk.js'

export interface RangePort<P> extends ListPort<P> {
  /** Takes a page that holds something of the range. With a boundary: see `reached`. */
  take(page: WalkPage<P>, boundary: string | null): Promise<void>
  /** Everything of the range that is newer than this has been taken: one who goes on later may begin there. */
  reached(boundary: string): Promise<void>
  readAhead(): number
  note(message: string, fields: Record<string, unknown>): void
}

/** Records with `after` < `updated_at` <= `until`; `until` is the end of a second, or `forever`. */
export interface ListRange {
  readonly after: string
  readonly until: string
  /** Records newer than `until`, as far as is known: where to start. */
  readonly newer: number
  /** Records newer than `after`, where that is known: a small range can then be shown by one answer. */
  readonly total?: number
}

export interface RangeOutcome {
  readonly verdict: 'proven' | 'repaired' | 'unproven'
  /** Distinct records of the range that were seen, unusable ones included. */
  readonly seen: number
  /** Records of the range when its list was begun, by the source's count. */
  readonly expected: number
}

/** What one reading of the range has shown. */
interface RangeReading {
  total: number
  fell: boolean
  /** Two pages meet in one and the same time: records of that time may hide behind each other. */
  tied: boolean
  expected: number
  oldest: string
}

/** Page sizes of the readings: each cuts ties elsewhere. */
const sizes = [100, 97, 89, 83, 79] as const
const attempts = 3

/**
 * Lists a range of a cursor from its newest record to its oldest: starts at the page that counting has told, and ends
 * with the list, since the source is asked for nothing older. A range of few records is shown whole by one answer: the
 * last page of a list that also shows a record in front of the range. Otherwise it is read as a walk is, stepping back
 * when the total falls, and again with other page sizes while records may hide.
 */
export class RangeWalk<P> {
  readonly #seen = new Set<Int64 | string>()
  readonly #vouched: string[] = []
  #newer: number
  #total: number | undefined

  constructor(
    private readonly port: RangePort<P>,
    private readonly range: ListRange,
  ) {
    this.#newer = range.newer
    this.#total = range.total
  }

  /** Whether the record with this time belongs to the range: what is older is not listed. */
  #holds(time: string): boolean {
    const { until } = this.range
    return until === forever || time <= until
  }

  async run(): Promise<RangeOutcome> {
    const whole = await this.#atOnce()
    if (whole) return whole
    let reading: RangeReading | undefined
    for (const [i, perPage] of sizes.entries()) {
      reading = await this.#read(perPage)
      const isEven = !reading.fell && this.#seen.size >= reading.expected
      if (isEven) return this.#outcome(i === 0 ? 'proven' : 'repaired', reading.expected)
      // What fell was stepped back for; what moved to the front while it was read is no longer of the range.
      if (!reading.tied) return this.#outcome('repaired', reading.expected)
      if (this.range.until !== forever) this.#newer = await countAfter(this.port, this.range.until)
    }
    return this.#outcome('unproven', reading?.expected ?? 0)
  }

  #outcome(verdict: RangeOutcome['verdict'], expected: number): RangeOutcome {
    return { verdict, seen: this.#seen.size, expected }
  }

  #enter(page: WalkPage<P>): number {
    const own = page.sightings.filter(({ updatedAt }) => this.#holds(updatedAt))
    for (const { id } of own) this.#seen.add(id)
    return own.length
  }

  /** One answer that shows the whole range and that it is whole; undefined when the range is too large for that. */
  async #atOnce(): Promise<RangeOutcome | undefined> {
    for (let attempt = 0; attempt < attempts && this.#total !== undefined; attempt++) {
      const isTop = this.range.until === forever
      const most = this.#total - (isTop ? 0 : this.#newer)
      const place = lastPage(this.#total, isTop ? this.#total : most + 1)
      if (!place) return undefined
      const page = await this.port.fetch(this.range.after, place.page, place.perPage)
      const isEnd = page.total <= place.page * place.perPage && page.records > 0
      const hasFront = place.page === 1 || page.sightings.some((s) => s.updatedAt > this.range.until)
      if (page.total === 0 || (isEnd && hasFront)) {
        const own = this.#enter(page)
        if (own > 0) await this.port.take(page, null)
        return this.#outcome('proven', own)
      }
      this.#newer += Math.max(0, page.total - this.#total)
      if (!hasFront && page.total <= this.#total) this.#newer = Math.max(0, this.#newer - 1)
      this.#total = page.total
    }
    return undefined
  }

  /** One reading, page by page. */
  async #read(perPage: number): Promise<RangeReading> {
    const first = await this.#first(perPage)
    const reading: RangeReading = { total: first.total, fell: false, tied: false, expected: 0, oldest: '' }
    const front = first.sightings.filter(({ updatedAt }) => !this.#holds(updatedAt)).length
    reading.expected = Math.max(0, first.total - (first.page - 1) * perPage - front)
    const descent = new Pager<P>({
      perPage,
      fetch: (page, size) => this.port.fetch(this.range.after, page, size),
      readAhead: () => this.port.readAhead(),
      enter: (page, place) => this.#page(reading, page, place),
      observe: (total) => this.#observe(reading, total),
      vouch: () => (reading.oldest === '' ? undefined : void this.#vouched.push(reading.oldest)),
      disown: () => {},
      steppedBack: (details) => this.port.note('Stepping back in a range of a list', details),
    })
    await this.#page(reading, first, 'next')
    await descent.run(first.page + 1, first.totalPages)
    this.#total = reading.total
    return reading
  }

  /** The page on which the range begins: it shows a record in front of the range, or is the first of all. */
  async #first(perPage: number): Promise<WalkPage<P>> {
    // The page of the last newer record: it goes in front of the range even where the next page begins with it.
    let number = this.range.until === forever ? 1 : pageOf(this.#newer, perPage)
    let total = this.#total
    for (;;) {
      const page = await this.port.fetch(this.range.after, number, perPage)
      const [newest] = page.sightings
      if (number === 1 || (newest && !this.#holds(newest.updatedAt))) return page
      const fell = (total ?? page.total) - page.total
      number = Math.max(1, number - Math.max(1, Math.ceil(fell / perPage)))
      total = page.total
    }
  }

  #observe(reading: RangeReading, total: number): number {
    const fell = Math.max(0, reading.total - total)
    reading.fell ||= fell > 0
    reading.total = total
    return fell
  }

  /** Returns by how much the total fell. */
  async #page(reading: RangeReading, page: WalkPage<P>, place: PagePlace): Promise<number> {
    const fell = place === 'window' ? 0 : this.#observe(reading, page.total)
    const times = page.sightings.map(({ updatedAt }) => updatedAt)
    if (reading.oldest !== '' && (times[0] ?? '') >= reading.oldest) reading.tied = true
    reading.oldest = fell > 0 ? '' : (times.at(-1) ?? reading.oldest)
    const boundary = place === 'next' && fell === 0 ? (times.at(-1) ?? null) : null
    await this.#settleVouched()
    if (this.#enter(page) > 0) await this.port.take(page, boundary)
    return fell
  }

  /** Windows are vouched for when they have been read and found in order; that is committed with the next page. */
  async #settleVouched(): Promise<void> {
    const last = this.#vouched.splice(0).at(-1)
    if (last !== undefined) await this.port.reached(last)
  }
}

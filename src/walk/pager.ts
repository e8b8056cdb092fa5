import { firstBurst, type ListHead, largestBurst, Prefetch, smallestBurst } from './prefetch.js'
import type { WalkPage } from './walk.js'

/**
 * Where a page stands. `next`: everything in front of it has been read, so a resumed walk may go on behind it.
 * `window`: read together with others, and not yet known to be in order. `top`: read again for what is newer.
 */
export type PagePlace = 'next' | 'window' | 'top'

/** How a descent reaches the list and the walk. */
export interface PagerPort<P> {
  readonly perPage: number
  fetch(page: number, perPage: number): Promise<WalkPage<P>>
  /** How many pages may be under way at once (see WalkPort.readAhead). */
  readAhead(): number
  /**
   * Enters a page into the books and stores it; returns by how much the total fell since the response before. `front`:
   * what the list showed before the page's window.
   */
  enter(page: WalkPage<P>, place: PagePlace, front?: ListHead): Promise<number>
  /** Enters a total that came without a page. */
  observe(total: number): number
  /** All up to this page has turned out to be read as if in order. */
  vouch(page: WalkPage<P>): void
  /** What was read in the window has not. */
  disown(): void
  steppedBack(details: Record<string, unknown>): void
}

export const listHeadOf = <P>(page: WalkPage<P>): ListHead => {
  const first = page.sightings[0]
  return { newest: first ? `${first.id} ${first.updatedAt}` : '', total: page.total }
}

/**
 * Reads a list downwards from a page. One page after the other, stepping back when the total falls; or, when many
 * pages may be under way at once, window by window. Responses that overlap in time show the list at different moments,
 * and an update between them can push a record from a page not yet read to one already read. So a window counts only
 * if the list stood still while it was read: same newest record, same total, before the first window and after this
 * one. Otherwise it is read again, smaller, and in the end one page after the other. Nothing is claimed that a sequential walk could not.
 */
export class Pager<P> {
  #front: ListHead | undefined
  #window = firstBurst
  #next: { number: number; page: Promise<WalkPage<P>> } | undefined

  constructor(private readonly port: PagerPort<P>) {}

  /** Tells what the list showed of itself last; without it the first window has to ask. */
  showed(firstPage: WalkPage<P>): void {
    this.#front = listHeadOf(firstPage)
  }

  /** A page that has come already. */
  has(number: number, page: WalkPage<P>): void {
    this.#next = { number, page: Promise.resolve(page) }
  }

  /** Reads on from a page to the end of the list, or to the first record older than `until`. */
  async run(from: number, known: number, until = ''): Promise<void> {
    let pages = known
    // A list that never holds still would be read for ever; the books then stay open.
    let budget = 3 * known + 100
    for (let k = from; k <= pages && budget > 0; ) {
      const isWide = until === '' && this.#isWide(pages - k + 1)
      const step = isWide ? await this.#together(k, pages) : await this.#single(k, until)
      budget -= Math.max(1, step.read)
      pages = step.pages
      k = step.next
      if (step.done) return
    }
  }

  #isWide(left: number): boolean {
    return this.#window > 1 && left >= smallestBurst && this.port.readAhead() > 1
  }

  async #single(k: number, until: string): Promise<PagerStep> {
    const page = await this.#get(k)
    const ahead =
      this.port.readAhead() > 0 && until === '' && k < page.totalPages && !this.#isWide(page.totalPages - k)
    // Asked for when this one has come: still one after the other, but not waiting for the warehouse.
    if (ahead) this.#prefetch(k + 1)
    const fell = await this.port.enter(page, until === '' ? 'next' : 'top')
    const pages = page.records === 0 ? Math.min(page.totalPages, k) : page.totalPages
    if (fell > 0) return { next: this.#stepBack(k, fell), pages, read: 1, done: false }
    return { next: k + 1, pages, read: 1, done: page.sightings.some((s) => s.updatedAt < until) }
  }

  /** Window after window, as long as each turns out to be in order. */
  async #together(from: number, last: number): Promise<PagerStep> {
    const before = this.#front ?? (await this.#look())
    const { readAhead, perPage, fetch } = this.port
    const port = { readAhead, fetch: (k: number) => fetch(k, perPage), look: () => this.#look() }
    const flight = new Prefetch<P>(port, { from, last, width: this.#window })
    let step = { next: from, pages: last, read: 0, done: false }
    try {
      for (let leg = flight.next(); leg; leg = flight.next()) {
        const page = await leg.page
        const read = step.read + 1
        await this.port.enter(page, 'window', before)
        const isEnd = leg.check !== undefined
        const isStill = page.total === before.total && (!isEnd || isSame(before, await leg.check))
        if (!isStill) {
          // Totals of overlapping requests have no order: what is under way comes in before anything else is asked.
          await flight.ended()
          this.#window = Math.max(1, Math.floor(leg.width / 4))
          return await this.#moved(step.next, before, read)
        }
        step = { ...step, read }
        if (!isEnd) continue
        this.port.vouch(page)
        this.#window = Math.min(largestBurst, leg.width * 2)
        step = { ...step, next: leg.number + 1, pages: page.totalPages }
      }
    } finally {
      flight.stop()
    }
    return step
  }

  async #moved(from: number, before: ListHead, read: number): Promise<PagerStep> {
    this.port.disown()
    const after = await this.#look()
    const pages = Math.max(from, Math.ceil(after.total / this.port.perPage))
    const fell = Math.max(0, before.total - after.total)
    return { next: fell > 0 ? this.#stepBack(from, fell) : from, pages, read, done: false }
  }

  async #look(): Promise<ListHead> {
    const page = await this.port.fetch(1, 1)
    this.port.observe(page.total)
    this.#front = listHeadOf(page)
    return this.#front
  }

  #stepBack(k: number, fell: number): number {
    const pages = Math.ceil(fell / this.port.perPage)
    const next = Math.max(1, k - pages)
    this.#next = undefined
    this.port.steppedBack({ fell, from: k, to: next })
    return next
  }

  #prefetch(number: number): void {
    const page = this.port.fetch(number, this.port.perPage)
    page.catch(() => {})
    this.#next = { number, page }
  }

  #get(k: number): Promise<WalkPage<P>> {
    const ready = this.#next
    this.#next = undefined
    return ready?.number === k ? ready.page : this.port.fetch(k, this.port.perPage)
  }
}

const isSame = (one: ListHead, other: ListHead | undefined): boolean =>
  one.newest === other?.newest && one.total === other.total

interface PagerStep {
  readonly next: number
  readonly pages: number
  readonly read: number
  readonly done: boolean
}

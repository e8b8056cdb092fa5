/**
 * Reads a list downwards, page by page or in bursts, and steps back when the total falls. reading.ts walks a whole list
 * with it, range.ts a part of one.
 */
import { firstBurst, largestBurst, Prefetch, smallestBurst } from './prefetch.js'
import type { ListHead, WalkPage } from './types.js'

/** How a pager reaches the list, and where its pages go. */
export interface PagerPort<P> {
  readonly perPage: number
  /** The reader wants no further pages. */
  readonly isAbandoned: boolean
  /** The pages have shown that there are no others, whatever the total says. */
  readonly isAtEnd: boolean
  fetch(page: number, perPage: number): Promise<WalkPage<P>>
  /** How many pages may be under way at the same time: see WalkPort.readAhead. */
  readAhead(): number
  /** Takes the next page in order. Returns by how much the total fell since the previous response. */
  next(page: WalkPage<P>): Promise<number>
  /** Takes a page of a burst that isn't yet known to be in order. `before`: the head of the list before the burst. */
  burst(page: WalkPage<P>, before: ListHead): Promise<void>
  /** Takes a total that came without a page. */
  observe(total: number): void
  /** The list didn't change while the burst up to this page was read, so its pages count as read in order. */
  vouch(page: WalkPage<P>): void
  /** The list moved during the burst, so its pages don't count as read in order. */
  stopProgress(): void
  steppedBack(details: Record<string, unknown>): void
}

export const listHeadOf = <P>(page: WalkPage<P>): ListHead => {
  const first = page.observed[0]
  return { newest: first ? `${first.id} ${first.updatedAt}` : '', total: page.total }
}

interface PagerStep {
  /** The page to read next, and the last known page. */
  readonly next: number
  readonly pages: number
  /** Pages that the step has read. */
  readonly read: number
}

/**
 * After each step the pager is at one page of the list, in one of two states.
 *
 * - One by one: takes the next page. If the total fell, records moved forward across a page boundary, so the pager goes
 *   back by as many pages as the fall covers (docs/architecture.md, Why a walk can be complete).
 * - In bursts, if `readAhead` allows several pages at the same time: responses that overlap in time show the list at
 *   different moments, and an update between two responses can push a record from an unread page to a read one. A burst
 *   counts only if the head of the list was the same before the first burst and after this one. Otherwise the pager
 *   reads the burst again in smaller bursts, and in the end one by one
 *   (docs/architecture.md, Why a walk can be complete).
 */
export class Pager<P> {
  #head: ListHead | undefined
  #width = firstBurst
  #ready: { number: number; page: Promise<WalkPage<P>> } | undefined
  /** Totals that came without a page while one was stored. They are taken in their turn. */
  readonly #totals: number[] = []

  constructor(private readonly port: PagerPort<P>) {}

  /** Passes in the current head of the list; without it, the first burst has to request it. */
  showed(firstPage: WalkPage<P>): void {
    this.#head = listHeadOf(firstPage)
  }

  /** Hands over a page that has already arrived. */
  has(number: number, page: WalkPage<P>): void {
    this.#ready = { number, page: Promise.resolve(page) }
  }

  /** Reads from a page to the end of the list. `known`: the number of pages as far as known. */
  async run(from: number, known: number): Promise<void> {
    await this.#steps(from, known, (k, pages) =>
      this.#isWide(pages - k + 1) ? this.#burst(k, pages) : this.#single(k),
    )
  }

  /**
   * Reads one by one from the second page to the first record older than `time`. `take` stores pages like `next` does.
   */
  async runUntil(time: string, known: number, take: (page: WalkPage<P>) => Promise<number>): Promise<void> {
    await this.#steps(2, known, async (k) => {
      const page = await this.port.fetch(k, this.port.perPage)
      const step = this.#after(k, page, await take(page))
      const isDone = step.next > k && page.observed.some(({ updatedAt }) => updatedAt < time)
      return isDone ? { ...step, pages: k } : step
    })
  }

  async #steps(
    from: number,
    known: number,
    step: (k: number, pages: number) => Promise<PagerStep>,
  ): Promise<void> {
    // Without a limit, the pager would never finish a list that keeps changing. At the limit the books stay open.
    let budget = 3 * known + 100
    for (let [k, pages] = [from, known]; k <= pages && budget > 0 && !this.#isOver; ) {
      const { next, pages: last, read } = await step(k, pages)
      budget -= Math.max(1, read)
      k = next
      pages = last
    }
  }

  get #isOver(): boolean {
    return this.port.isAbandoned || this.port.isAtEnd
  }

  #isWide(left: number): boolean {
    return this.#width > 1 && left >= smallestBurst && this.port.readAhead() > 1
  }

  async #single(k: number): Promise<PagerStep> {
    const page = await this.#fetch(k)
    const left = page.totalPages - k
    // The next request starts when this page has arrived: still one after the other, but without waiting for the store.
    if (this.port.readAhead() > 0 && left > 0 && !this.#isWide(left)) this.#prefetch(k + 1)
    return this.#after(k, page, await this.port.next(page))
  }

  #after(k: number, page: WalkPage<P>, fell: number): PagerStep {
    const pages = page.records === 0 ? Math.min(page.totalPages, k) : page.totalPages
    return { next: fell > 0 ? this.#stepBack(k, fell) : k + 1, pages, read: 1 }
  }

  /** Reads burst after burst while each turns out to be in order. */
  async #burst(from: number, last: number): Promise<PagerStep> {
    const { port } = this
    const before = this.#head ?? (await this.#look())
    const prefetch = new Prefetch<P>(
      {
        readAhead: () => port.readAhead(),
        fetch: (k) => this.#fetch(k),
        look: () => this.#look(),
      },
      { from, last, width: this.#width },
    )
    let step = { next: from, pages: last, read: 0 }
    try {
      for (let pending = prefetch.next(); pending; pending = prefetch.next()) {
        const page = await pending.page
        const read = step.read + 1
        this.#observe()
        await port.burst(page, before)
        if (this.#isOver) return { ...step, read }
        const isEnd = pending.check !== undefined
        const isStill = page.total === before.total && (!isEnd || isSame(before, await pending.check))
        this.#observe()
        if (!isStill) {
          // Totals of overlapping responses have no order: every page under way must arrive before the next request.
          await prefetch.ended()
          this.#width = Math.max(1, Math.floor(pending.width / 4))
          return await this.#moved(step.next, before, read)
        }
        step = { ...step, read }
        if (!isEnd) continue
        port.vouch(page)
        this.#width = Math.min(largestBurst, pending.width * 2)
        step = { next: pending.number + 1, pages: page.totalPages, read }
      }
    } finally {
      prefetch.stop()
    }
    return step
  }

  async #moved(from: number, before: ListHead, read: number): Promise<PagerStep> {
    this.#observe()
    this.port.stopProgress()
    const { total } = await this.#look()
    this.#observe()
    const pages = Math.max(from, Math.ceil(total / this.port.perPage))
    const fell = Math.max(0, before.total - total)
    return { next: fell > 0 ? this.#stepBack(from, fell) : from, pages, read }
  }

  #fetch(k: number): Promise<WalkPage<P>> {
    const ready = this.#ready
    this.#ready = undefined
    return ready?.number === k ? ready.page : this.port.fetch(k, this.port.perPage)
  }

  async #look(): Promise<ListHead> {
    // A page that arrived before the head of the list doesn't follow it.
    this.#ready = undefined
    const page = await this.port.fetch(1, 1)
    this.#totals.push(page.total)
    this.#head = listHeadOf(page)
    return this.#head
  }

  /** The books judge a page when it is stored: no other response may come in between. */
  #observe(): void {
    for (const total of this.#totals.splice(0)) this.port.observe(total)
  }

  #stepBack(k: number, fell: number): number {
    const next = Math.max(1, k - Math.ceil(fell / this.port.perPage))
    this.#ready = undefined
    this.port.steppedBack({ fell, from: k, to: next })
    return next
  }

  #prefetch(number: number): void {
    const page = this.port.fetch(number, this.port.perPage)
    page.catch(() => {})
    this.#ready = { number, page }
  }
}

const isSame = (one: ListHead, other: ListHead | undefined): boolean =>
  one.newest === other?.newest && one.total === other.total

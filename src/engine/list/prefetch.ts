/**
 * Pages that are under way at the same time, handed out in list order. pages.ts reads a burst with it; features/plan
 * predicts the number of bursts with the same figures.
 */
import type { ListHead, WalkPage } from './types.js'

/** Bursts grow while the list doesn't change and shrink when it moves. Checking a burst costs one small request. */
export const smallestBurst = 8
export const firstBurst = 32
/** A walk that was cut short within a burst, and whose list has moved since, reads the whole burst again. */
export const largestBurst = 256

/** Pages of the next burst when `left` are left. A remainder too small for its own burst joins this one. */
export const burstOf = (left: number, width: number): number => (left - width < smallestBurst ? left : width)

/** How many pages may wait behind a slow one. More would only fill memory. */
const slack = 4

/**
 * Reads bursts back to back: Prefetch requests the next page when a page has arrived, not when it is stored, and a
 * burst is checked while the pages of the next one are under way.
 */
export class Prefetch<P> {
  readonly #last: number
  readonly #waiting: {
    readonly number: number
    readonly page: Promise<WalkPage<P>>
    /** Pages of the burst that the page belongs to. */
    readonly width: number
    /** On the last page of a burst: the head of the list after all pages of the burst have arrived. */
    readonly check?: Promise<ListHead>
  }[] = []
  #next: number
  #width: number
  #end: number
  #underWay = 0
  /** Resolves when every requested page has arrived, and each check in between, one after the other. */
  #arrived: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(
    /** How a page and the head of the list are requested, and how many pages may be under way. */
    private readonly asking: {
      readonly ask: (page: number) => Promise<WalkPage<P>>
      readonly look: () => Promise<ListHead>
      readonly most: () => number
    },
    span: { readonly next: number; readonly last: number; readonly width: number },
  ) {
    this.#next = span.next
    this.#last = span.last
    this.#width = span.width
    this.#end = this.#endOf(span.next)
  }

  /** undefined: no page is left, or reading together is no longer worthwhile. */
  next() {
    this.#ask()
    return this.#waiting.shift()
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Resolves when every page under way has arrived or failed. */
  async ended(): Promise<void> {
    this.stop()
    await this.#arrived.catch(() => {})
  }

  #ask(): void {
    const most = Math.max(1, this.asking.most())
    while (this.#goesOn() && this.#underWay < most && this.#waiting.length < most + slack)
      this.#start(this.#next++)
  }

  #goesOn(): boolean {
    if (this.#isStopped || this.#next > this.#last) return false
    if (this.#next <= this.#end) return true
    if (this.asking.most() <= 1) return false
    this.#width = Math.min(largestBurst, this.#width * 2)
    this.#end = this.#endOf(this.#next)
    return true
  }

  #endOf(from: number): number {
    return from - 1 + burstOf(this.#last - from + 1, this.#width)
  }

  #start(number: number): void {
    const page = this.asking.ask(number)
    this.#underWay++
    const settled = (): void => {
      this.#underWay--
      this.#ask()
    }
    page.then(settled, settled)
    const pending = { number, page, width: this.#width }
    this.#arrived = after(this.#arrived, () => page)
    if (number !== this.#end) this.#waiting.push(pending)
    else {
      const check = after(this.#arrived, () => this.asking.look())
      this.#arrived = check
      this.#waiting.push({ ...pending, check })
    }
  }
}

/** Runs one after the other. A rejection that isn't awaited must not end the process: the caller of `page` gets it. */
function after<T>(first: Promise<unknown>, then: () => Promise<T>): Promise<T> {
  const both = first.then(then)
  both.catch(() => {})
  return both
}

import type { WalkPage } from './walk.js'

/** What a list shows of itself without being read: its newest record and its length. */
export interface ListHead {
  readonly newest: string
  readonly total: number
}

/** Windows grow while the list stands still, and shrink when it moves; the check of one costs one small request. */
export const smallestBurst = 8
export const firstBurst = 32
/** A walk that is cut short in a window whose list has moved since reads all of it again. */
export const largestBurst = 256

/** Pages of the next window, of so many left: what it would leave behind, and is too little for one, belongs to it. */
export const burstOf = (left: number, width: number): number => (left - width < smallestBurst ? left : width)

/** A page under way. */
export interface PendingPage<P> {
  readonly number: number
  readonly page: Promise<WalkPage<P>>
  /** Pages of the window that it belongs to. */
  readonly width: number
  /** Behind the last page of a window: what the list shows when all of it has come. */
  readonly check?: Promise<ListHead>
}

/** Pages that may wait behind one that is late: more would only fill the memory. */
const slack = 4

interface PrefetchPort<P> {
  fetch(page: number): Promise<WalkPage<P>>
  readAhead(): number
  look(): Promise<ListHead>
}

/**
 * Pages in order, several under way at once, in windows that follow one another without a pause: the next page is asked
 * for when one has come, not when it is stored, and the check of one window is under way together with the next.
 */
export class Prefetch<P> {
  readonly #last: number
  readonly #waiting: PendingPage<P>[] = []
  #next: number
  #width: number
  #end: number
  #underWay = 0
  /** All that was asked for so far has come, the checks in between in their order. */
  #landed: Promise<unknown> = Promise.resolve()
  #isStopped = false

  constructor(
    private readonly port: PrefetchPort<P>,
    span: { from: number; last: number; width: number },
  ) {
    this.#next = span.from
    this.#last = span.last
    this.#width = span.width
    this.#end = this.#endOf(span.from)
  }

  /** undefined: there is nothing left, or reading together is not worthwhile any more. */
  next(): PendingPage<P> | undefined {
    this.#ask()
    return this.#waiting.shift()
  }

  /** Asks for nothing more. */
  stop(): void {
    this.#isStopped = true
  }

  /** When all that is under way has come, or failed. */
  async ended(): Promise<void> {
    this.stop()
    await this.#landed.catch(() => {})
  }

  #ask(): void {
    const most = Math.max(1, this.port.readAhead())
    while (this.#goesOn() && this.#underWay < most && this.#waiting.length < most + slack)
      this.#start(this.#next++)
  }

  #goesOn(): boolean {
    if (this.#isStopped || this.#next > this.#last) return false
    if (this.#next <= this.#end) return true
    if (this.port.readAhead() <= 1) return false
    this.#width = Math.min(largestBurst, this.#width * 2)
    this.#end = this.#endOf(this.#next)
    return true
  }

  #endOf(from: number): number {
    return from - 1 + burstOf(this.#last - from + 1, this.#width)
  }

  #start(number: number): void {
    const page = this.port.fetch(number)
    this.#underWay++
    const landed = (): void => {
      this.#underWay--
      this.#ask()
    }
    page.then(landed, landed)
    const width = this.#width
    this.#landed = after(this.#landed, () => page)
    if (number !== this.#end) this.#waiting.push({ number, page, width })
    else {
      const check = after(this.#landed, () => this.port.look())
      this.#landed = check
      this.#waiting.push({ number, page, width, check })
    }
  }
}

/** Its failure is met by whoever waits for it, if anybody does. */
function after<T>(first: Promise<unknown>, then: () => Promise<T>): Promise<T> {
  const both = first.then(then)
  both.catch(() => {})
  return both
}

/**
 * Pages in order, some of them asked for ahead of their turn. Responses that were under way at the same time can
 * show the list at different moments, so a walk that read ahead is no longer `sequential`: only books that close
 * exactly can vouch for it (design: the walk).
 */
export class PageReader<T> {
  readonly #fetch: (page: number) => Promise<T>
  readonly #ahead: () => number
  readonly #pending = new Map<number, Promise<T>>()
  sequential = true

  constructor(fetch: (page: number) => Promise<T>, ahead: () => number) {
    this.#fetch = fetch
    this.#ahead = ahead
  }

  /** The page, and as many of those after it as may be asked for now, up to the last that is known. */
  async get(page: number, last: number): Promise<T> {
    const wanted = this.#start(page)
    const until = Math.min(last, page + this.#ahead())
    for (let next = page + 1; next <= until; next++) this.#start(next)
    if (this.#pending.size > 1) this.sequential = false
    try {
      return await wanted
    } finally {
      this.#pending.delete(page)
    }
  }

  /** Forgets what was asked for ahead: the list has moved. */
  discard(): void {
    this.#pending.clear()
  }

  #start(page: number): Promise<T> {
    const known = this.#pending.get(page)
    if (known) return known
    const started = this.#fetch(page)
    // Its failure is met when its turn comes; discarded pages fail unheard.
    started.catch(() => {})
    this.#pending.set(page, started)
    return started
  }
}

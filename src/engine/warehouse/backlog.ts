/**
 * Counts the pages that wait to be stored. Where the warehouse is slower than the source, cursors that go on fetching
 * only fill memory: eight cursors hold sixty megabytes more than one, and store nothing sooner.
 */
export class Backlog {
  readonly #waiting: (() => void)[] = []
  #pages = 0
  /** Work that keeps this thread busy, held until no transaction asks. */
  readonly #held: (() => void)[] = []
  #asking = 0

  constructor(private readonly limit: number) {}

  /**
   * Fetches a page when there is room for one. A page that was fetched may never be stored: the request failed, the run
   * was aborted, or the page is read again. So the end of a fetch lets the next one begin, as the end of a store does;
   * if stores alone did, the others would wait for ever behind a fetch that failed.
   */
  async fetching<T>(fetch: () => Promise<T>): Promise<T> {
    if (this.#pages >= this.limit) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await fetch()
    } finally {
      this.#next()
    }
  }

  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#pages++
    try {
      return await work()
    } finally {
      this.#pages--
      this.#next()
    }
  }

  /**
   * Runs a transaction that asks the database before it writes. Until `sent` is called, the database waits for this
   * thread: a page that is decoded meanwhile leaves it idle for as long as the page takes.
   */
  async asking<T>(transaction: (sent: () => void) => Promise<T>): Promise<T> {
    let isAsking = true
    const sent = (): void => {
      if (!isAsking) return
      isAsking = false
      if (--this.#asking > 0) return
      for (const go of this.#held.splice(0)) go()
    }
    this.#asking++
    try {
      return await transaction(sent)
    } finally {
      sent()
    }
  }

  /** Resolves when no transaction waits for an answer before it writes. */
  async free(): Promise<void> {
    while (this.#asking > 0) await new Promise<void>((resolve) => this.#held.push(resolve))
  }

  #next(): void {
    if (this.#pages < this.limit) this.#waiting.shift()?.()
  }
}

/** The pages waiting to be stored, and the transactions that wait for this thread. The source's throttle reads it. */
export class Backlog {
  #pages = 0
  /** Callers waiting for the next page to be stored. */
  readonly #waiting: (() => void)[] = []
  /** Work that keeps this thread busy, held until no transaction is asking. */
  readonly #held: (() => void)[] = []
  #asking = 0

  /**
   * `enough`: this many pages keep the database busy. Letting eight cursors continue takes sixty megabytes more than
   * one.
   */
  constructor(readonly enough: number) {}

  get pages(): number {
    return this.#pages
  }

  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#pages++
    try {
      return await work()
    } finally {
      this.#pages--
      for (const go of this.#waiting.splice(0)) go()
    }
  }

  /** Resolves when the next page is stored or has failed. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /**
   * Runs a transaction that queries the database before it writes. Until `sent` is called, the database waits for this
   * thread; decoding a page meanwhile would leave it idle for that long.
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

  /** Resolves when no transaction is waiting for a result before it writes. */
  async free(): Promise<void> {
    while (this.#asking > 0) await new Promise<void>((resolve) => this.#held.push(resolve))
  }
}

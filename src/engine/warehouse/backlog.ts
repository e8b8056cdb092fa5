/** The pages that wait to be stored, and the transactions that wait for this thread: the source's throttle asks. */
export class Backlog {
  #pages = 0
  /** Those who wait for the next page to be stored. */
  readonly #waiting: (() => void)[] = []
  /** Work that keeps this thread busy, held until no transaction asks. */
  readonly #held: (() => void)[] = []
  #asking = 0

  /** `enough`: so many pages keep the database busy. Eight cursors that go on hold sixty megabytes more than one. */
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

  /** Resolves when the next page is stored, or has failed. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
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
}

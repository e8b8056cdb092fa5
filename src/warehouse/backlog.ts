/**
 * Counts the pages that wait to be stored. Where the warehouse is slower than the source, cursors that go on fetching
 * only fill memory: eight cursors hold sixty megabytes more than one, and store nothing sooner.
 */
export class Backlog {
  readonly #waiting: (() => void)[] = []
  #pages = 0

  constructor(private readonly limit: number) {}

  /** Resolves when another page may be fetched. Every store ends, so this promise resolves too. */
  room(): Promise<void> {
    if (this.#pages < this.limit) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#pages++
    try {
      return await work()
    } finally {
      this.#pages--
      if (this.#pages < this.limit) this.#waiting.shift()?.()
    }
  }
}

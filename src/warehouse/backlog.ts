/**
 * Counts the pages on their way into the warehouse. Where it is slower than the source, cursors that go on asking only
 * fill the memory: eight of them hold sixty megabytes more than one, and nothing is stored sooner.
 */
export class Backlog {
  readonly #waiting: (() => void)[] = []
  #pages = 0

  constructor(private readonly most: number) {}

  /** Resolves when another page may be asked for. What is under way always ends, so this does too. */
  room(): Promise<void> {
    if (this.#pages < this.most) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#pages++
    try {
      return await work()
    } finally {
      this.#pages--
      if (this.#pages < this.most) this.#waiting.shift()?.()
    }
  }
}

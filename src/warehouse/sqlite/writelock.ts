/**
 * Who may write to a database with one writer: this thread's transactions one by one, and the writer thread's batches,
 * which keep their own order. They wait for each other here, not in the database, whose lock would stop this thread.
 */
export class WriteLock {
  #own: Promise<void> = Promise.resolve()
  #theirs: Promise<void> = Promise.resolve()

  /** Runs when all that was begun before is over. */
  own<T>(work: () => Promise<T>): Promise<T> {
    const turn = Promise.all([this.#own, this.#theirs]).then(work)
    this.#own = settled(turn)
    return turn
  }

  /** Runs when this thread's transactions are over; may be handed over while others of its kind are under way. */
  theirs<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#own.then(work)
    this.#theirs = settled(Promise.all([this.#theirs, settled(turn)]))
    return turn
  }
}

/** When it has ended, and nothing of what came of it: one turn waits for the last, which would keep the results of all. */
const settled = async (work: Promise<unknown>): Promise<void> => {
  await work.catch(() => {})
}

/**
 * Who may write to a database with one writer: this thread's transactions one by one, and the writer thread's batches,
 * which keep their own order. They wait for each other here, not in the database, whose lock would stop this thread.
 */
export class Turns {
  #own: Promise<unknown> = Promise.resolve()
  #theirs: Promise<unknown> = Promise.resolve()

  /** Runs when all that was begun before is over. */
  own<T>(work: () => Promise<T>): Promise<T> {
    const turn = Promise.all([this.#own, this.#theirs]).then(work)
    this.#own = settled(turn)
    return turn
  }

  /** Runs when this thread's transactions are over; may be handed over while others of its kind are under way. */
  theirs<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#own.then(work)
    this.#theirs = Promise.all([this.#theirs, settled(turn)])
    return turn
  }
}

const settled = (work: Promise<unknown>): Promise<unknown> => work.catch(() => {})

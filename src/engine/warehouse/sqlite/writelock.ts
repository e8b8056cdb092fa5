/**
 * Decides who may write to a database with one writer: this thread's transactions, or the writer thread's batches. They
 * wait for each other here; waiting for the database's own lock would stop this thread.
 *
 * free:   any work begins at once.
 * own:    one transaction of this thread runs; all other work waits.
 * shared: batches are with the writer thread, which stores them in the order in which they came; further batches may
 *         follow, a transaction of this thread waits until the last one has ended.
 *
 * Work begins in the order in which it was asked for.
 */
export class WriteLock {
  #own: Promise<void> = Promise.resolve()
  #shared: Promise<void> = Promise.resolve()

  /** Runs alone: when all work that was asked for before has ended. */
  own<T>(work: () => Promise<T>): Promise<T> {
    const result = Promise.all([this.#own, this.#shared]).then(work)
    this.#own = ended(result)
    return result
  }

  /** Runs beside other shared work: when this thread's transactions that were asked for before have ended. */
  shared<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#own.then(work)
    this.#shared = ended(Promise.all([this.#shared, ended(result)]))
    return result
  }
}

/** The end of some work without its result: the lock outlives every work, and would keep all their results. */
const ended = async (work: Promise<unknown>): Promise<void> => {
  await work.catch(() => {})
}

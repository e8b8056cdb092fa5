/**
 * Decides who may write to a database with one writer: this thread's transactions, or the writer thread's batches. They
 * wait for each other here, because waiting for the database's own lock would block this thread.
 *
 * free:   any work begins immediately.
 * own:    one transaction of this thread runs; all other work waits.
 * shared: the writer thread has batches and stores them in the order in which they arrived; further batches may follow;
 *         a transaction of this thread waits until the last one has ended.
 *
 * Work begins in the order in which it was requested.
 */
export class WriteLock {
  #own: Promise<void> = Promise.resolve()
  #shared: Promise<void> = Promise.resolve()

  /** Runs by itself, after all earlier work has ended. */
  own<T>(work: () => Promise<T>): Promise<T> {
    const result = Promise.all([this.#own, this.#shared]).then(work)
    this.#own = ended(result)
    return result
  }

  /** Runs alongside other shared work, after this thread's earlier transactions have ended. */
  shared<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#own.then(work)
    this.#shared = ended(Promise.all([this.#shared, ended(result)]))
    return result
  }
}

/** The end of some work without its result: the lock outlives all work and would keep all the results. */
const ended = async (work: Promise<unknown>): Promise<void> => {
  await work.catch(() => {})
}

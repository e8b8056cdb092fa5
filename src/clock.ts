/** Time, as a parameter: tests and the sandbox bring their own. */
export interface Clock {
  /** Microseconds since the epoch. */
  nowMicros(): bigint
  /** Resolves after so many milliseconds, or at once when the signal fires (it never rejects). */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
}

/** The machine's clock. */
export const systemClock: Clock = {
  nowMicros: () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)),
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, milliseconds)
      signal?.addEventListener('abort', done, { once: true })
    }),
}

/**
 * Unique, increasing stamps for requests, in microseconds: `_synced_at` of the rows that a request brings, and what
 * settles a tie between two versions with one `updated_at` (the request that started later wins). `floor` is the
 * newest stamp the warehouse has seen, so that a clock set back cannot make today's requests older than yesterday's.
 */
export class Stamps {
  #last: bigint

  constructor(
    private readonly clock: Clock,
    floor = 0n,
  ) {
    this.#last = floor
  }

  /** A newer stamp has been found than was known at first. */
  raise(floor: bigint): void {
    if (floor > this.#last) this.#last = floor
  }

  next(): bigint {
    const now = this.clock.nowMicros()
    this.#last = now > this.#last ? now : this.#last + 1n
    return this.#last
  }
}

/** Time as a parameter: tests give a clock of their own. */
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
 * Unique, increasing stamps for requests, in microseconds. The rows of a request carry its stamp as `_synced_at`. Of two
 * versions with one `updated_at`, the version with the later stamp wins. `floor` is the newest stamp that the warehouse
 * has seen: after a clock was set back, new requests still get later stamps than old ones.
 */
export class Stamps {
  #last: bigint

  constructor(
    private readonly clock: Clock,
    floor = 0n,
  ) {
    this.#last = floor
  }

  /** Takes note of a stamp in the warehouse: every later stamp is newer. */
  raise(floor: bigint): void {
    if (floor > this.#last) this.#last = floor
  }

  next(): bigint {
    const now = this.clock.nowMicros()
    this.#last = now > this.#last ? now : this.#last + 1n
    return this.#last
  }
}

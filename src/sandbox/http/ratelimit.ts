import type { Clock } from '../instant.js'

export interface RateOptions {
  /** Requests per window; default 1,000,000. */
  readonly limit?: number
  /** Length of a window in seconds; default 60. */
  readonly window?: number
  /** Requests per window that some other consumer of the same budget uses up. */
  readonly others?: number
}

export interface RateState {
  readonly limit: number
  readonly remaining: number
  /** Unix time in whole seconds. */
  readonly reset: number
  readonly exceeded: boolean
}

/** Fixed windows, aligned to the epoch, one count for each matched key. */
export class RateLimit {
  readonly #limit: number
  readonly #window: number
  readonly #others: number
  readonly #clock: Clock
  readonly #used = new Map<string, { window: number; count: number }>()

  constructor(clock: Clock, options: RateOptions = {}) {
    this.#clock = clock
    this.#limit = options.limit ?? 1_000_000
    this.#window = options.window ?? 60
    this.#others = options.others ?? 0
  }

  take(key: string, requests = 1): RateState {
    const seconds = Number(this.#clock.nowMicros() / 1_000_000n)
    const window = Math.floor(seconds / this.#window)
    let used = this.#used.get(key)
    if (used === undefined || used.window !== window) {
      used = { window, count: this.#others }
      this.#used.set(key, used)
    }
    used.count += requests
    return {
      limit: this.#limit,
      remaining: Math.max(0, this.#limit - used.count),
      reset: (window + 1) * this.#window,
      exceeded: used.count > this.#limit,
    }
  }

  clear(): void {
    this.#used.clear()
  }
}

/** Latency may grow by this factor, plus this many ms, before it counts as inflated: loopback jitters by more than 2×. */
const TOLERANCE = 2
const SLACK = 20
/** Never fewer than this in flight for latency's sake alone. */
const FLOOR = 4
const SHRINK = 0.85
/** Shrinking has helped when latency fell by at least half as much as the number in flight. */
const HELPED = (1 + SHRINK) / 2

/**
 * How many requests may be in flight: one more with each batch whose latency holds, fewer when it inflates. When
 * fewer in flight did not bring it down, the inflation was not of our making (larger pages, a slower server), and the
 * higher latency becomes the base.
 */
export class Concurrency {
  readonly #floor: number
  #level = 1
  #base = Number.POSITIVE_INFINITY
  #sum = 0
  #count = 0
  #starting = true
  /** The inflated mean that made the level shrink last. */
  #shrunkAt: number | undefined

  constructor(private readonly max: number) {
    this.#floor = Math.min(FLOOR, max)
  }

  get level(): number {
    return Math.floor(this.#level)
  }

  /** Mean latency of the last batch, in ms. */
  latency = 0

  answered(latency: number): void {
    if (this.latency === 0) this.latency = latency
    this.#sum += latency
    this.#count++
    if (this.#count >= this.level * (this.#starting ? 1 : 2)) this.#endBatch()
  }

  /** A time-out, a broken connection or a 5xx: the server is in trouble. */
  failed(): void {
    this.#starting = false
    this.#level = Math.max(Math.min(this.#floor, this.#level), this.#level * SHRINK)
  }

  #endBatch(): void {
    const mean = this.#sum / this.#count
    this.latency = mean
    this.#sum = 0
    this.#count = 0
    if (mean <= this.#base * TOLERANCE + SLACK) {
      this.#base = Math.min(mean, this.#base)
      this.#shrunkAt = undefined
      this.#level = Math.min(this.max, this.#starting ? this.#level * 2 : this.#level + 1)
    } else if (this.#shrunkAt !== undefined && mean > this.#shrunkAt * HELPED) {
      this.#base = mean / TOLERANCE
      this.#shrunkAt = undefined
    } else {
      this.#starting = false
      this.#shrunkAt = mean
      this.#level = Math.max(Math.min(this.#floor, this.#level), this.#level * SHRINK)
    }
  }
}

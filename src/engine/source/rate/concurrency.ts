/** Latency counts as inflated above base × TOLERANCE + SLACK ms: on loopback it varies by more than a factor of 2. */
const TOLERANCE = 2
const SLACK = 20
/** Inflated latency by itself never brings the level below this. */
const FLOOR = 4
const SHRINK = 0.85
/** Shrinking has helped if latency fell by at least half the share by which the level shrank. */
const HELPED = (1 + SHRINK) / 2

/**
 * How many requests may be in flight, based on their latency. Evaluates one batch of responses at a time. The states:
 *
 * - starting: the level doubles with every batch whose latency holds. Inflated latency or a failure ends this state for
 *   good.
 * - growing: the level rises by one with every such batch. Inflated latency shrinks the level.
 * - shrunk: the next batch shows whether it helped. If latency fell, shrink again while it is still inflated. If not,
 *   we didn't cause the inflation (larger pages, a slower server), so the higher latency becomes the base.
 *
 * A failure shrinks the level in every state.
 */
export class Concurrency {
  readonly #floor: number
  #level = 1
  #base = Number.POSITIVE_INFINITY
  #sum = 0
  #count = 0
  #starting = true
  /** The inflated mean that made the level shrink. undefined unless shrunk. */
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

  /** A timeout, a broken connection or a 5xx: the server is overloaded. */
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

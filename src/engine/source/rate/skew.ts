/** Two working clocks drift apart by less than this, per millisecond. */
const DRIFT = 1e-4

/**
 * How far the server's clock is ahead of ours, as bounds. A `Date` header has whole seconds, so one response leaves a
 * second of uncertainty. Further responses narrow the bounds, most of all those near the change of a second.
 */
export class Skew {
  #low = Number.NEGATIVE_INFINITY
  #high = Number.POSITIVE_INFINITY
  #at = 0

  /**
   * `date`: the server's clock, truncated to whole seconds, at some instant between sending and receiving. All in ms.
   */
  observe(date: number, sentAt: number, receivedAt: number): void {
    const widen = Math.max(0, receivedAt - this.#at) * DRIFT
    this.#at = receivedAt
    const low = date - receivedAt
    const high = date + 1000 - sentAt
    const kept = this.#low - widen
    const keptHigh = this.#high + widen
    // The bounds contradict each other: a clock was set, or another host answered. The newest bounds count.
    const contradicted = low > keptHigh || high < kept
    this.#low = contradicted ? low : Math.max(low, kept)
    this.#high = contradicted ? high : Math.min(high, keptHigh)
  }

  /** Our time at which the server's clock certainly shows `server` or later. */
  surely(server: number): number {
    return Number.isFinite(this.#low) ? server - this.#low : server
  }

  /** Our earliest time at which the server's clock may show `server`. */
  perhaps(server: number): number {
    return Number.isFinite(this.#high) ? server - this.#high : server
  }

  /** The earliest time that the server's clock can show at our time `local`. */
  atLeast(local: number): number {
    return Number.isFinite(this.#low) ? local + this.#low : local
  }

  /** Whether the server has sent its time. */
  get isKnown(): boolean {
    return Number.isFinite(this.#low)
  }

  /** The uncertainty in milliseconds. */
  get width(): number {
    return this.#high - this.#low
  }
}

/*
 * How fast rings follow each other with targets. Rings that spent a short window at once would leave nothing to the
 * lists without events, and to read a list at its first event leaves out those that follow. So rings take their share
 * of what is left of the window bit by bit, until it ends. Where the window is large, a bit is enough for all of them.
 * docs/freshness.md has the measurements.
 */

/** For how many milliseconds rings that were not used can be caught up on. */
const longestCatchUp = 300_000

export class RingPace {
  /** Requests that rings may send now. A ring of many pages makes it negative. */
  #allowed = 1
  #since: number | undefined

  /** Rings have sent requests. */
  spent(requests: number): void {
    this.#allowed -= requests
  }

  /**
   * When a ring may start, in ms since the epoch; `now` if it may at once. The window is as the source last described
   * it. `share`: of the window, for rings, 0 to 1.
   */
  nextAt(
    { remaining, resetsAt }: { readonly remaining: number; readonly resetsAt: number },
    share: number,
    now: number,
  ): number {
    // Nothing is known of the next window until a response describes it: one ring gets that response.
    if (resetsAt <= now) this.#allowed = Math.max(1, this.#allowed)
    const since = this.#since ?? now
    this.#since = now
    const forRings = share * remaining
    const perMs = forRings / Math.max(1, resetsAt - now)
    const most = Math.max(1, Math.min(forRings, perMs * longestCatchUp))
    this.#allowed = Math.min(most, this.#allowed + perMs * Math.max(0, now - since))
    if (this.#allowed >= 1) return now
    return perMs === 0 ? resetsAt : Math.min(resetsAt, now + (1 - this.#allowed) / perMs)
  }
}

import { poissonQuantile } from './poisson.js'

/**
 * How much of the past is remembered when a new window begins. A window in which the budget went at once shows others
 * for only a moment, so it takes many to see a rare one.
 */
const MEMORY = 0.97
/** Fewer than this, remembered, is nobody. */
const NOBODY = 0.05

/** How fast other consumers use the same limit, learned from what `remaining` loses beyond our own requests. */
export class OthersUsage {
  /** Requests of others, and the ms in which they were seen, in earlier windows; older ones weigh less. */
  #pastCount = 0
  #pastTime = 0
  /** When this window began at the earliest, or was first looked at, and what had been used by others then. */
  #since: number | undefined
  #base: number | undefined
  #seen = 0
  #seenAt = 0
  /** The latest stretch of this window, for bursts that a mean over windows would hide. */
  #markAt = 0
  #markSeen = 0
  #recent = 0

  /** A new window, which began at `at` at the earliest; undefined: found when it was under way. */
  open(at: number | undefined): void {
    if (this.#since !== undefined && this.#seenAt > this.#since) {
      this.#pastCount = this.#pastCount * MEMORY + this.#seen
      this.#pastTime = this.#pastTime * MEMORY + (this.#seenAt - this.#since)
    }
    this.#since = at
    this.#base = at === undefined ? undefined : 0
    this.#seen = 0
    this.#seenAt = at ?? 0
    this.#markAt = at ?? 0
    this.#markSeen = 0
    this.#recent = 0
  }

  /** `used`: by others in this window at our time `at`, at least; `span`: ms over which a burst is measured. */
  observe(used: number, at: number, span: number): void {
    if (this.#since === undefined || this.#base === undefined) {
      this.#base = Math.max(0, used)
      this.#since = at
      this.#seenAt = at
      this.#markAt = at
    }
    this.#seen = Math.max(this.#seen, used - this.#base)
    this.#seenAt = Math.max(this.#seenAt, at)
    const passed = at - this.#markAt
    if (passed < span) return
    this.#recent = (this.#seen - this.#markSeen) / passed
    this.#markAt = at
    this.#markSeen = this.#seen
  }

  /** Our share of what was used while we watched, when we used `ours`: as much of what is left is ours to reach for. */
  share(ours: number): number {
    return (ours + 1) / (ours + 1 + this.#seen)
  }

  /** How many to leave room for that may come within `ms` after the latest answer, at that `risk` of being wrong. */
  margin(ms: number, risk: number): number {
    const count = this.#pastCount + this.#seen
    if (count < NOBODY) return 0
    const time = this.#pastTime + (this.#since === undefined ? 0 : this.#seenAt - this.#since)
    // One more than were seen: few seen in a short time may be many.
    const mean = time > 0 ? (count + 1) / time : 0
    return poissonQuantile(Math.max(mean, this.#recent) * ms, risk)
  }
}

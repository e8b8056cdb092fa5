import { poissonQuantile } from './poisson.js'

/**
 * The weight that earlier windows keep when a new one begins. A window whose budget is used up at once shows the others
 * for a moment only, so that rare requests of others are seen over many windows or not at all.
 */
const MEMORY = 0.97
/** With fewer remembered requests than this, nobody else uses the limit. */
const NOBODY = 0.05

/** How fast other consumers use the same limit, learned from what `remaining` loses beyond our own requests. */
export class OthersUsage {
  /** Requests of others, and the ms in which they were seen, in earlier windows; older ones weigh less. */
  #pastCount = 0
  #pastTime = 0
  /** When this window began at the earliest, or was first seen, and how many requests of others it had counted then. */
  #since: number | undefined
  #base: number | undefined
  #seen = 0
  #seenAt = 0
  /** The rate in the latest part of this window: a mean over windows would hide a burst. */
  #markAt = 0
  #markSeen = 0
  #recent = 0

  /** A new window, which began at `at` at the earliest; undefined when nobody watched its beginning. */
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

  /** `used`: requests of others in this window up to `at`, at least; `span`: ms over which a burst is measured. */
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

  /** Our share of the use that was seen, when `ours` requests were ours: the same share of the rest is ours to take. */
  share(ours: number): number {
    return (ours + 1) / (ours + 1 + this.#seen)
  }

  /** How many requests of others may come within `ms` after the latest answer; `risk`: the chance that more come. */
  margin(ms: number, risk: number): number {
    const count = this.#pastCount + this.#seen
    if (count < NOBODY) return 0
    const time = this.#pastTime + (this.#since === undefined ? 0 : this.#seenAt - this.#since)
    // One more than was seen: few in a short time may be many.
    const mean = time > 0 ? (count + 1) / time : 0
    return poissonQuantile(Math.max(mean, this.#recent) * ms, risk)
  }
}

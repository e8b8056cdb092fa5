/** How much of the same limit others use, and how much distance to keep from them. */

/**
 * The weight that earlier windows keep when a new one begins. A window whose budget is used up right away shows the
 * others only for a moment, so their rare requests are seen over many windows or not at all.
 */
const MEMORY = 0.97
/** With fewer remembered requests than this, nobody else uses the limit. */
const NOBODY = 0.05

/**
 * How fast other consumers use the same limit, learned from how much more `remaining` drops than our own requests
 * explain.
 */
export class OthersUsage {
  /** Requests of others in earlier windows, and the ms in which they were seen. Older ones weigh less. */
  #pastCount = 0
  #pastTime = 0
  /**
   * The earliest time this window can have begun, or when it was first seen, and how many requests of others it had
   * counted by then.
   */
  #since: number | undefined
  #base: number | undefined
  #seen = 0
  #seenAt = 0
  /** The rate in the latest part of this window: a mean over windows would hide a burst. */
  #markAt = 0
  #markSeen = 0
  #recent = 0

  /** A new window that began at `at` at the earliest. undefined if its beginning wasn't observed. */
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

  /**
   * `used`: the minimum number of requests by others in this window up to `at`. `span`: ms over which a burst is
   * measured.
   */
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

  /** Our share of the observed use, if `ours` requests were ours. We may take the same share of the rest. */
  share(ours: number): number {
    return (ours + 1) / (ours + 1 + this.#seen)
  }

  /** How many requests of others may come within `ms` after the latest response. `risk`: the chance that more come. */
  margin(ms: number, risk: number): number {
    const count = this.#pastCount + this.#seen
    if (count < NOBODY) return 0
    const time = this.#pastTime + (this.#since === undefined ? 0 : this.#seenAt - this.#since)
    // One more than was seen: a few in a short time may be many.
    const mean = time > 0 ? (count + 1) / time : 0
    return poissonQuantile(Math.max(mean, this.#recent) * ms, risk)
  }
}

/**
 * The smallest k for which more than k events are less likely than `risk`, if `mean` are expected. Used to leave room
 * for the requests of others.
 */
function poissonQuantile(mean: number, risk: number): number {
  if (mean <= 0) return 0
  if (mean > 60) return Math.ceil(mean + 2.7 * Math.sqrt(mean) + 1)
  let term = Math.exp(-mean)
  let covered = term
  let k = 0
  while (1 - covered > risk) {
    k++
    term *= mean / k
    covered += term
  }
  return k
}

/** The largest share of the limit that is held back because requests were refused. */
const MOST_SPARED = 0.1
const FADE = 0.95

/**
 * Keeps distance after refusals. OthersUsage can't predict another process of the same kind: that process also opens
 * each window with a burst, and both take the last requests of a window at the same time. The distance doubles with a
 * refusal, at most once per window, and slowly shrinks in windows without one.
 */
export class Headroom {
  #opening = Number.POSITIVE_INFINITY
  #spare = 0
  #refusedOpening = false
  #refusedLater = false

  /** How many requests may be under way before the first response of a window. */
  get opening(): number {
    return this.#opening
  }

  /** How many of the window's requests to leave unused. */
  spare(limit: number): number {
    return Math.min(Math.floor(this.#spare), Math.ceil(limit * MOST_SPARED))
  }

  /** `flying`: how many requests were under way at the window's first response. undefined for a request sent later. */
  refused(flying: number | undefined): void {
    if (flying === undefined) {
      if (!this.#refusedLater) this.#spare = this.#spare * 2 + 1
      this.#refusedLater = true
    } else {
      if (!this.#refusedOpening) this.#opening = Math.max(1, Math.floor(Math.min(this.#opening, flying) / 2))
      this.#refusedOpening = true
    }
  }

  close(): void {
    if (!this.#refusedOpening) this.#opening++
    if (!this.#refusedLater) this.#spare *= FADE
    this.#refusedOpening = false
    this.#refusedLater = false
  }
}

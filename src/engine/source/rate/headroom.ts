/** The largest share of the limit that is kept back because requests were refused. */
const MOST_SPARED = 0.1
const FADE = 0.95

/**
 * Keeps distance after refusals. OthersUsage cannot foresee another process of this kind: it opens each window with a
 * burst too, and both processes take the last requests of a window at once. The distance doubles with a refusal, once a
 * window at most, and shrinks slowly in windows without one.
 */
export class Headroom {
  #opening = Number.POSITIVE_INFINITY
  #spare = 0
  #refusedOpening = false
  #refusedLater = false

  /** How many requests may be under way before the first answer of a window. */
  get opening(): number {
    return this.#opening
  }

  /** How many of the window's requests to leave unused. */
  spare(limit: number): number {
    return Math.min(Math.floor(this.#spare), Math.ceil(limit * MOST_SPARED))
  }

  /** `flying`: how many requests were under way at the window's first answer; undefined for one sent later. */
  refused(flying: number | undefined): void {
    if (flying === undefined) {
      if (!this.#refusedLater) this.#spare = this.#spare * 2 + 1
      this.#refusedLater = true
    } else {
      if (!this.#refusedOpening) this.#opening = Math.max(1, Math.floor(Math.min(this.#opening, flying) / 2))
      this.#refusedOpening = true
    }
  }

  /** A window is over. */
  close(): void {
    if (!this.#refusedOpening) this.#opening++
    if (!this.#refusedLater) this.#spare *= FADE
    this.#refusedOpening = false
    this.#refusedLater = false
  }
}

import type { Clock } from '../clock.js'

/** How much a new measurement counts against those before. */
const weight = 0.2
/** Reading several pages together costs checks; below this ratio of waiting to working it gains too little. */
const worthwhile = 3

/**
 * Measures what holds a walk back. While storing a page takes about as long as fetching one, it is enough to ask for
 * the next page when the last has come. Where waiting for the source takes several times as long, several pages are
 * asked for together.
 */
export class Pace {
  readonly #clock: Clock
  readonly #most: number
  #fetch = 0
  #store = 0

  constructor({ clock, readAhead = 16 }: { readonly clock: Clock; readonly readAhead?: number }) {
    this.#clock = clock
    this.#most = readAhead
  }

  /** See WalkPort.readAhead. */
  readAhead(): number {
    if (this.#most <= 1) return this.#most
    const ratio = this.#fetch / Math.max(this.#store, 1000)
    return ratio < worthwhile ? 1 : Math.min(this.#most, Math.ceil(ratio))
  }

  async fetching<T>(answer: Promise<T>): Promise<T> {
    const from = this.#clock.nowMicros()
    const result = await answer
    this.#fetch = blend(this.#fetch, Number(this.#clock.nowMicros() - from))
    return result
  }

  async storing<T>(work: Promise<T>): Promise<T> {
    const from = this.#clock.nowMicros()
    const result = await work
    this.#store = blend(this.#store, Number(this.#clock.nowMicros() - from))
    return result
  }
}

const blend = (before: number, value: number): number =>
  before === 0 ? value : before * (1 - weight) + value * weight

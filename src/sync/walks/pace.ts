import type { Clock } from '../../clock.js'
import { toMicros } from '../../timestamp.js'

/** How much a new measurement counts against those before. */
const weight = 0.2
/** Reading several pages together costs checks; below this ratio of waiting to working it gains too little. */
const worthwhile = 3
/** Where requests spend most of their time in the queue, the rate limit or other cursors hold the walk back. */
const leastShare = 0.25

/**
 * Measures what holds a walk back. While storing a page takes about as long as fetching one, it is enough to ask for
 * the next page when the last has come. Where the source takes several times as long to answer, several pages are
 * asked for together; not where the answer comes soon, and it is the rate limit that lets no more requests pass.
 */
export class Pace {
  readonly #clock: Clock
  readonly #most: number
  #answer = 0
  #store = 0
  /** Which share of the time that a request takes it is under way. */
  #share = 1

  constructor({ clock, readAhead = 16 }: { readonly clock: Clock; readonly readAhead?: number }) {
    this.#clock = clock
    this.#most = readAhead
  }

  /** See WalkPort.readAhead. Twice as many as keep the warehouse busy: answers do not come one by one. */
  readAhead(): number {
    if (this.#most <= 1) return this.#most
    const ratio = this.#answer / Math.max(this.#store, 1000)
    if (ratio < worthwhile || this.#share < leastShare) return 1
    return Math.min(this.#most, Math.ceil(2 * ratio))
  }

  async fetching<T>(answer: Promise<T>, sentAt: (result: T) => string): Promise<T> {
    const from = this.#clock.nowMicros()
    const result = await answer
    const until = this.#clock.nowMicros()
    // Stamps run ahead of a clock that was set back; then nothing is known, and nothing is read together.
    const took = Math.max(0, Number(until - toMicros(sentAt(result))))
    this.#answer = blend(this.#answer, took)
    this.#share = blend(this.#share, Math.min(1, took / Math.max(1, Number(until - from))))
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

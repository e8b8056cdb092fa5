import { toMicros } from '../base/timestamp.js'
import type { WalkPage } from '../walk/types.js'
import type { Fetched, FlatPage } from './store.js'
import type { Run } from './tenant.js'

/** The weight of a new measurement against the average of the earlier ones. */
const weight = 0.2
/** Pages that are read together cost checks; below this ratio of fetching to storing they gain too little. */
const worthwhile = 3
/** Below this share of time under way, requests mostly wait for the rate limit or for other cursors. */
const leastShare = 0.25

/**
 * Measures what holds a walk back, and says how many pages to ask for at once. While storing a page takes about as long
 * as fetching one, it is enough to ask for the next page when the last has come. Where the source takes several times
 * as long to answer, several pages are asked for together; not where answers come soon and the rate limit lets no more
 * requests pass.
 */
export class Pace {
  #answer = 0
  #store = 0
  /** The share of a request's time in which it is under way, and does not wait to be sent. */
  #share = 1

  constructor(private readonly run: Pick<Run, 'clock' | 'readAhead'>) {}

  /** See WalkPort.readAhead. Twice as many pages as keep the warehouse busy, since answers come in bunches. */
  readAhead(): number {
    const { readAhead: most = 16 } = this.run
    if (most <= 1) return most
    const ratio = this.#answer / Math.max(this.#store, 1000)
    if (ratio < worthwhile || this.#share < leastShare) return 1
    return Math.min(most, Math.ceil(2 * ratio))
  }

  async fetching<P extends FlatPage>(answer: Promise<WalkPage<Fetched<P>>>): Promise<WalkPage<Fetched<P>>> {
    const from = this.run.clock.nowMicros()
    const page = await answer
    const until = this.run.clock.nowMicros()
    // Stamps run ahead of a clock that was set back: the time is then unknown, and pages are not read together.
    const took = Math.max(0, Number(until - toMicros(page.payload.startedAt)))
    this.#answer = blend(this.#answer, took)
    this.#share = blend(this.#share, Math.min(1, took / Math.max(1, Number(until - from))))
    return page
  }

  async storing<T>(work: Promise<T>): Promise<T> {
    const from = this.run.clock.nowMicros()
    const result = await work
    this.#store = blend(this.#store, Number(this.run.clock.nowMicros() - from))
    return result
  }
}

const blend = (before: number, value: number): number =>
  before === 0 ? value : before * (1 - weight) + value * weight

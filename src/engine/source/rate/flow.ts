/**
 * The pages of one list on their way from the source to the warehouse. The warehouse reports how many pages it hasn't
 * stored yet, the walk asks how many may be under way, and throttle.ts lets them go accordingly.
 */
import type { Clock } from '../../base/clock.js'

/** The weight of a new measurement compared with the average of the earlier ones. */
const weight = 0.2
/** Reading pages together costs checks. Below this ratio of fetching to storing time, it gains too little. */
const worthwhile = 3
/** Below this share of time under way, requests mostly wait for the rate limit or for other cursors. */
const leastShare = 0.25
/** The minimum time to store a page, in ms: shorter times can't be measured reliably. */
const leastStore = 1

export class Flow {
  #answer = 0
  #store = 0
  /** The share of a request's time in which it is under way and not waiting for the window. */
  #share = 1

  /** Without `unstored`, pages are compared and hardly any is stored. */
  constructor(
    private readonly options: {
      readonly clock: Clock
      /** How many pages of one list may be under way at the same time if latency slows the walk down; default 16. */
      readonly readAhead?: number
    },
    /** The pages that the warehouse hasn't stored yet. */
    private readonly unstored?: {
      readonly pages: number
      /** How many keep the warehouse busy. More would only fill memory. */
      readonly enough: number
      /** Resolves when the next page is stored or has failed. */
      next(): Promise<void>
      /** Resolves when long work on this thread, such as decoding a page, won't keep a transaction waiting. */
      free(): Promise<void>
    },
  ) {}

  /**
   * How many pages may be under way at the same time: see List.readAhead. While storing a page takes about as long
   * as fetching one, it is enough to request the next page when the last one has arrived. If the source takes several
   * times as long to answer, several pages may be requested together: twice as many as keep the warehouse busy, since
   * responses arrive in bunches. Not if responses come quickly and the rate limit allows no more requests.
   */
  get together(): number {
    const { readAhead: most = 16 } = this.options
    if (most <= 1) return most
    const ratio = this.#answer / Math.max(this.#store, leastStore)
    if (ratio < worthwhile || this.#share < leastShare) return 1
    return Math.min(most, Math.ceil(2 * ratio))
  }

  /** The warehouse has enough pages to store. */
  get isFull(): boolean {
    const { unstored } = this
    return unstored !== undefined && unstored.pages >= unstored.enough
  }

  /** Resolves when the next page is stored. */
  async stored(): Promise<void> {
    await this.unstored?.next()
  }

  /** Resolves when a page may be decoded. */
  async free(): Promise<void> {
    await this.unstored?.free()
  }

  ready({
    since,
    sentAt,
    now,
  }: {
    /** Since when the page was waiting for the window; all in ms since the epoch. */
    readonly since: number
    readonly sentAt: number
    readonly now: number
  }): void {
    const took = Math.max(0, now - sentAt)
    this.#answer = blend(this.#answer, took)
    this.#share = blend(this.#share, Math.min(1, took / Math.max(0.001, now - since)))
  }

  async storing<T>(work: Promise<T>): Promise<T> {
    const from = this.options.clock.nowMicros()
    const result = await work
    this.#store = blend(this.#store, Number(this.options.clock.nowMicros() - from) / 1000)
    return result
  }
}

const blend = (before: number, value: number): number =>
  before === 0 ? value : before * (1 - weight) + value * weight

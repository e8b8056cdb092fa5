/**
 * The pages of one list on their way from the source to the warehouse. The warehouse says how many pages it has not stored
 * yet; the walk asks how many it may have under way; the throttle (throttle.ts) lets them go by it.
 */
import type { Clock } from '../../base/clock.js'

/** The pages that the warehouse has not stored yet. */
export interface Unstored {
  readonly pages: number
  /** How many keep the warehouse busy: more only fill memory. */
  readonly enough: number
  /** Resolves when the next page is stored, or has failed. */
  next(): Promise<void>
  /** Resolves when long work on this thread, such as decoding a page, keeps no transaction waiting. */
  free(): Promise<void>
}

interface FlowOptions {
  readonly clock: Clock
  /** Pages of one list that may be under way at once, where latency holds the walk back; default 16. */
  readonly readAhead?: number
}

/** A page that has come and is ready to be stored. In ms since the epoch. */
interface ReadyPage {
  /** Since when it waited for the window. */
  readonly since: number
  readonly sentAt: number
  readonly now: number
}

/** The weight of a new measurement against the average of the earlier ones. */
const weight = 0.2
/** Pages that are read together cost checks; below this ratio of fetching to storing they gain too little. */
const worthwhile = 3
/** Below this share of time under way, requests mostly wait for the rate limit or for other cursors. */
const leastShare = 0.25
/** A page takes at least so long to store, in ms: below that, the clock tells nothing. */
const leastStore = 1

export class Flow {
  #answer = 0
  #store = 0
  /** The share of a request's time in which it is under way, and does not wait for the window. */
  #share = 1

  /** Without `unstored`, pages are compared, and hardly any is stored. */
  constructor(
    private readonly options: FlowOptions,
    private readonly unstored?: Unstored,
  ) {}

  /**
   * How many pages may be under way at once: see WalkPort.readAhead. While storing a page takes about as long as fetching
   * one, it is enough to ask for the next page when the last has come. Where the source takes several times as long to
   * answer, several pages may be asked for together, twice as many as keep the warehouse busy, since answers come in
   * bunches; not where answers come soon and the rate limit lets no more requests pass.
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

  ready({ since, sentAt, now }: ReadyPage): void {
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

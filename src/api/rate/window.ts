import type { RateReport } from '../http/headers.js'
import { Headroom } from './headroom.js'
import { OthersUsage } from './othersusage.js'
import type { Skew } from './skew.js'

/** Timers and clocks are not exact; this much later is still as good as at once. All times are in ms. */
const MARGIN = 5
/** The reset is cut to whole seconds, so a window that is seen past it may last this much longer. */
const ROUNDING = 1000
/** A reset that is further off than this says nothing. */
const LONGEST_WINDOW = 25 * 3_600_000
const ASK_AGAIN = 1000
const LATEST_RESET = 10_000
/** The chance of a 429 that a request may run when others use the same limit. */
const RISK = 0.006

/** When a request was sent and its answer came. */
export interface RequestSpan {
  readonly sentAt: number
  readonly receivedAt: number
}

/**
 * One rule's fixed window, as the responses tell it. A window is named by its reset; what an older one says is not
 * believed of the present one. Once it is over, the next is taken to be whole until a response says what it holds.
 */
export class RateWindow {
  readonly #others = new OthersUsage()
  readonly #caution = new Headroom()
  #limit = 1
  #remaining = 1
  /** Undefined: over, and no response from the next one yet. */
  #reset: number | undefined
  #over = Number.NEGATIVE_INFINITY
  /** Beyond the announced reset, because a response has shown that the window outlasts it. */
  #late = 0
  /** When requests ended that may have been counted since `remaining` was said, without a word of it. */
  #untold: number[] = []
  /** Requests of ours that this window has counted. */
  #ours = 0
  /** The shortest time between two resets; when more has passed, nobody watched this window from its beginning. */
  #length = Number.POSITIVE_INFINITY
  #knownAt = 0
  /** When the first response spoke of the present window, and how many were under way then. */
  #toldAt = Number.POSITIVE_INFINITY
  #flying = 0
  /** Under way since the window before. */
  #stragglers = 0

  constructor(
    private readonly skew: Skew,
    private readonly reserve: number,
  ) {}

  get limit(): number {
    return this.#limit
  }

  get remaining(): number {
    return Math.max(0, this.#remaining - this.#untold.length)
  }

  /** How long a window lasts, in ms, going by two resets; undefined while only one was seen. */
  get length(): number | undefined {
    return Number.isFinite(this.#length) ? this.#length : undefined
  }

  /** Whether any response has spoken of the present window. */
  get told(): boolean {
    return this.#toldAt < Number.POSITIVE_INFINITY
  }

  /** Our time from which the next window may surely be used. */
  get endsAt(): number | undefined {
    return this.#reset === undefined ? undefined : this.skew.surely(this.#reset) + this.#late + MARGIN
  }

  /** When to ask again if nobody told when the window ends. */
  get askAgainAt(): number {
    return Math.max(this.#knownAt, this.#untold.at(-1) ?? 0) + ASK_AGAIN
  }

  /** Over, and no response has named this rule since, though others were: it no longer counts us. */
  isForgotten(now: number): boolean {
    return (
      this.#reset === undefined && !this.told && this.#untold.length > 0 && now > this.#knownAt + ASK_AGAIN
    )
  }

  /** Closes the window if its time has come. */
  roll(now: number, inflight: number): void {
    const end = this.endsAt
    if (end === undefined || now < end) return
    this.#over = this.#reset ?? this.#over
    const earliest = this.skew.perhaps(this.#over)
    this.#begin(undefined, this.#limit, Math.min(end, earliest))
    this.#stragglers = inflight
  }

  /** How many requests may be sent now, when `inflight` are under way and take `latency` ms to be answered. */
  room(now: number, inflight: number, latency: number): number {
    const reserved = Math.min(Math.ceil(this.#limit * this.reserve - 1e-9), this.#limit - 1)
    const left = this.#remaining - this.#untold.length - reserved
    const room = left - inflight
    if (room < 1) return this.#atLeastOne(room, now, inflight)
    const ahead = Math.max(0, now - this.#knownAt) + latency / 2
    const margin = Math.max(this.#others.margin(ahead, RISK), this.#caution.spare(this.#limit))
    const fair = this.told
      ? Math.floor(left * this.#others.share(this.#ours))
      : this.#caution.opening + this.#stragglers
    return this.#atLeastOne(Math.min(room - margin, fair - inflight), now, inflight)
  }

  /** A window of which nothing is known must be asked, or it would never be known. */
  #atLeastOne(room: number, now: number, inflight: number): number {
    if (room >= 1 || inflight > 0 || this.#reset !== undefined) return room
    const fresh = !this.told && this.#untold.length === 0
    return fresh || now >= this.askAgainAt ? 1 : room
  }

  /** A request was answered, or broke off, without a word about this rule; it may have been counted all the same. */
  charge(at: number): void {
    this.#untold.push(at)
  }

  observe(report: RateReport, span: RequestSpan, inflight: number, latency: number, refused: boolean): void {
    const reset = this.#plausible(report.reset, span)
    const wasLate = this.#late
    if (reset !== undefined && this.#isStale(reset, report, span)) return
    const late = this.#late > wasLate
    const anew = reset !== undefined && reset !== this.#reset
    if (anew) this.#enter(reset)
    const unnamed = this.#reset === undefined || report.limit !== this.#limit
    this.#remaining = anew || unnamed ? report.remaining : Math.min(this.#remaining, report.remaining)
    this.#limit = Math.max(1, report.limit)
    if (!this.told) {
      this.#toldAt = span.receivedAt
      this.#flying = inflight + 1
    }
    if (!refused) this.#ours++
    else if (!late) this.#caution.refused(span.sentAt < this.#toldAt ? this.#flying : undefined)
    this.#knownAt = Math.max(this.#knownAt, (span.sentAt + span.receivedAt) / 2)
    const used = this.#limit - report.remaining - this.#ours - this.#untold.length - inflight
    this.#others.observe(used, span.receivedAt, Math.max(50, 2 * latency))
    this.#toldOf(span.sentAt)
  }

  /** A response to a request that was sent at `sentAt` speaks of all that had ended by then. */
  #toldOf(sentAt: number): void {
    const later = this.#untold.findIndex((at) => at > sentAt)
    const told = later < 0 ? this.#untold.length : later
    this.#ours += told
    this.#untold.splice(0, told)
  }

  #plausible(reset: number | undefined, span: RequestSpan): number | undefined {
    if (reset === undefined) return undefined
    const ahead = this.skew.surely(reset) - span.receivedAt
    const past = this.skew.atLeast(span.sentAt) - reset
    return ahead > LONGEST_WINDOW || past > LATEST_RESET ? undefined : reset
  }

  /** From a window that is over; unless the request was sent after its end, which then came later than announced. */
  #isStale(reset: number, report: RateReport, span: RequestSpan): boolean {
    if (reset < (this.#reset ?? Number.NEGATIVE_INFINITY)) return true
    if (reset > this.#over) return false
    const past = this.skew.atLeast(span.sentAt) - reset
    if (reset < this.#over || past < 0) return true
    this.#late = Math.max(this.#late, past < ROUNDING ? ROUNDING : past + ROUNDING)
    this.#over = Number.NEGATIVE_INFINITY
    this.#begin(reset, report.remaining, undefined)
    return false
  }

  #enter(reset: number): void {
    if (this.#reset !== undefined) {
      this.#over = this.#reset
      this.#begin(reset, this.#limit, undefined)
    }
    const length = reset - this.#over
    if (length > this.#length) this.#others.open(undefined)
    else this.#length = length
    this.#reset = reset
  }

  #begin(reset: number | undefined, remaining: number, at: number | undefined): void {
    this.#reset = reset
    this.#remaining = remaining
    this.#untold = []
    this.#ours = 0
    this.#toldAt = Number.POSITIVE_INFINITY
    this.#caution.close()
    this.#knownAt = at ?? this.#knownAt
    this.#others.open(at)
  }
}

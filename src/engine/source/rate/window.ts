/**
 * One rule of the rate limit: how many requests its current window still has for us, and when the window ends. Used by
 * budget.ts, one per rule that responses name (docs/dev/api.md, Rate limit).
 */
import type { WindowClaim } from '../../base/windowclaim.js'
import type { RateReport } from '../http/headers.js'
import { Headroom, OthersUsage } from './othersusage.js'
import type { Skew } from './skew.js'

/** Extra wait after a window's end, because timers and clocks aren't exact. All times are in ms. */
const MARGIN = 5
/** The reset is truncated to whole seconds, so a window that outlasts it may last this much longer. */
const ROUNDING = 1000
/** A reset that is further away isn't trusted. */
const LONGEST_WINDOW = 25 * 3_600_000
const ASK_AGAIN = 1000
const LATEST_RESET = 10_000
/** The accepted probability of a 429 if others use the same limit. */
const RISK = 0.006

/** A window as siblings know it. */
type WindowName = Pick<WindowClaim, 'resetsAt' | 'isSaid' | 'from' | 'to' | 'used'>

/** When a request was sent and when its response arrived. */
export interface RequestSpan {
  readonly sentAt: number
  readonly receivedAt: number
}

/**
 * One rule's fixed window, as the responses describe it. The reset identifies a window: a response with an older reset
 * says nothing about the current one. The states:
 *
 * - untold: no response has covered the current window yet, at the beginning and again after `roll`. The window is
 *   assumed to be unused; until the first response, only as many requests go as `Headroom` allows.
 * - told: `remaining` is the lowest value in the responses, minus the requests since then that no response has covered
 *   (`#untold`). A response with a newer reset begins the next window.
 * - over: the reset has passed by the server's clock; `roll` makes it untold. If a response to a request sent after the
 *   reset still names it, the window lasts longer than announced (`#late`).
 * - forgotten: untold, and responses name only other rules. Budget drops the window.
 */
export class RateWindow {
  readonly #others = new OthersUsage()
  readonly #headroom = new Headroom()
  #limit = 1
  #remaining = 1
  /** undefined while untold, or if responses name no reset. */
  #reset: number | undefined
  #over = Number.NEGATIVE_INFINITY
  /** How much longer than announced the window lasts, as a response has shown. */
  #late = 0
  /** When requests ended that the server may have counted after the response that `remaining` comes from. */
  #untold: number[] = []
  /** Requests of ours that this window has counted. */
  #ours = 0
  /** The shortest time between two resets. If more time has passed, this window began before we looked at it. */
  #length = Number.POSITIVE_INFINITY
  #knownAt = 0
  /** When the first response covered the current window, and how many requests were under way then. */
  #toldAt = Number.POSITIVE_INFINITY
  #flying = 0
  /** Requests sent in the previous window that hadn't been answered when this one began. */
  #stragglers = 0

  /** Whether siblings take from a row, which gives everyone a share and counts what they use (siblings.ts). */
  isShared = false

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

  /** How many requests of a window may be used. */
  get usable(): number {
    return this.#limit - Math.min(Math.ceil(this.#limit * this.reserve - 1e-9), this.#limit - 1)
  }

  /** How many requests all siblings together may take: some fewer after refusals, because strangers take some too. */
  get shareable(): number {
    return Math.max(1, this.usable - this.#headroom.spare(this.#limit))
  }

  /** When the window before this one ended, in seconds by the server's clock. */
  get over(): number {
    return this.#over / 1000
  }

  /** Whether the window is known to end later than another one. `resetsAt`: in seconds by the server's clock. */
  isAfter(resetsAt: number): boolean {
    return this.#reset !== undefined && this.#reset / 1000 > resetsAt + this.#slack
  }

  /** Our time from which a window that ends at `resetsAt` is certainly over. */
  passes(resetsAt: number): number {
    return this.skew.surely(resetsAt * 1000) + this.#late + MARGIN
  }

  /** Our earliest time at which a window that ends at `resetsAt` may be over. */
  mayPass(resetsAt: number): number {
    return this.skew.perhaps(resetsAt * 1000)
  }

  /** By how many seconds two ends of the same window may differ. */
  get #slack(): number {
    return this.#length <= 2000 ? 0 : 1
  }

  /**
   * The current window, as a row of all siblings knows it (WindowClaim). Before the first response has covered it, it
   * gets the earliest end that it can have once that response is here: a later one than the true one would keep everybody
   * waiting. Nor may it be so early that siblings take it for the window before, of which they know how much is used: the
   * whole window would be lost. For the same reason a window that may be over says no number. undefined if responses
   * name no end.
   */
  name(now: number, latency: number): WindowName | undefined {
    if (this.#reset !== undefined) {
      const resetsAt = Math.round(this.#reset / 1000)
      const [from, to] = [resetsAt - this.#slack, resetsAt + this.#slack]
      const used = now < this.mayPass(resetsAt) ? this.#limit - this.#remaining : 0
      return { resetsAt, isSaid: true, from, to, used }
    }
    if (this.told || !Number.isFinite(this.#over)) return undefined
    const from = this.#nextSecond(now)
    const { length } = this
    const latest = length === undefined ? from : (this.#over + length) / 1000
    const apart = length === undefined ? from : this.over + 2 * this.#slack + 1
    const resetsAt = Math.max(from, apart, Math.min(this.#nextSecond(now + 3 * latency), Math.round(latest)))
    return { resetsAt, isSaid: false, from, to: resetsAt, used: 0 }
  }

  #nextSecond(now: number): number {
    return Math.floor(this.skew.atLeast(now) / 1000) + 1
  }

  /** How long a window lasts, in ms, based on two resets. undefined while only one was seen. */
  get length(): number | undefined {
    return Number.isFinite(this.#length) ? this.#length : undefined
  }

  /** Whether any response has covered the current window. */
  get told(): boolean {
    return this.#toldAt < Number.POSITIVE_INFINITY
  }

  /** Our time from which the next window can certainly be used. */
  get endsAt(): number | undefined {
    return this.#reset === undefined ? undefined : this.passes(this.#reset / 1000)
  }

  /** When to ask again if no response says when the window ends. */
  get askAgainAt(): number {
    return Math.max(this.#knownAt, this.#untold.at(-1) ?? 0) + ASK_AGAIN
  }

  /** Untold, while responses named other rules: this rule no longer counts our requests. */
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

  /** How many requests may be sent now, with `inflight` under way that take `latency` ms to be answered. */
  room(now: number, inflight: number, latency: number): number {
    const left = this.#remaining - this.#untold.length - (this.#limit - this.usable)
    const room = left - inflight
    if (room < 1) return this.#atLeastOne(room, now, inflight)
    const ahead = Math.max(0, now - this.#knownAt) + latency / 2
    const margin = Math.max(this.#others.margin(ahead, RISK), this.#headroom.spare(this.#limit))
    const fair = this.told ? this.#fair(left) : this.#headroom.opening + this.#stragglers
    return this.#atLeastOne(Math.min(room - margin, fair - inflight), now, inflight)
  }

  #fair(left: number): number {
    return this.isShared ? left : Math.floor(left * this.#others.share(this.#ours))
  }

  /** An unknown window must be probed with one request, or it would stay unknown. */
  #atLeastOne(room: number, now: number, inflight: number): number {
    if (room >= 1 || inflight > 0 || this.#reset !== undefined) return room
    const fresh = !this.told && this.#untold.length === 0
    return fresh || now >= this.askAgainAt ? 1 : room
  }

  /** A request ended without reporting this rule, which may have counted it all the same. */
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
    else if (!late) this.#headroom.refused(span.sentAt < this.#toldAt ? this.#flying : undefined)
    this.#knownAt = Math.max(this.#knownAt, (span.sentAt + span.receivedAt) / 2)
    const used = this.#limit - report.remaining - this.#ours - this.#untold.length - inflight
    // What siblings use isn't use by others, and between two claims nobody here knows how much it is. Counting them as
    // others would leave a part of every window unused. A refusal by true others costs less: headroom learns from it.
    this.#others.observe(this.isShared ? 0 : used, span.receivedAt, Math.max(50, 2 * latency))
    this.#toldOf(span.sentAt)
  }

  /** The response to a request sent at `sentAt` covers all requests that had ended by then. */
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

  /**
   * Whether a report is about a window that is over. For a request that was sent after the reset, it shows a later end.
   */
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
    this.#headroom.close()
    this.#knownAt = at ?? this.#knownAt
    this.#others.open(at)
  }
}

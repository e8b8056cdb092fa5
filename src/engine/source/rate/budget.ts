/**
 * Decides whether one more request may be sent, based on what was sent and answered so far. Used by throttle.ts, which
 * has the clock, the timers and the queue (docs/dev/architecture.md, What else the engine rests on).
 */
import { plural } from '../../base/format.js'
import type { RateReport } from '../http/headers.js'
import { Concurrency } from './concurrency.js'
import type { Answer, Moment, RowQuestion, Siblings } from './siblings.js'
import { Skew } from './skew.js'
import { concerns, usualMaxWait } from './wait.js'
import { RateWindow, type RequestSpan } from './window.js'

export interface BudgetOptions {
  /** The most requests in flight. */
  readonly connections: number
  /** The share of each window left for others, 0 to 0.9. */
  readonly reserve: number
  readonly random: () => number
  /** How long, in ms, to pause after a 429 that doesn't say when to come back: at first, and at most. */
  readonly pause?: { readonly baseMs: number; readonly maxMs: number }
  /** The longest wait that we accept, in ms; default: one hour. Beyond it, requests are refused with a Skip. */
  readonly maxWait?: number
  /** The processes with which windows are shared. Absent: there are none. */
  readonly siblings?: Siblings | undefined
}

/**
 * `send`: now. `wait`: not before `at` (in ms), unless a response comes first. `full`: not before a response has come, or
 * an answer to a question. `ask`: not before the question is answered.
 */
type Decision =
  | { readonly kind: 'send' }
  | { readonly kind: 'ask'; readonly question: RowQuestion }
  | { readonly kind: 'wait'; readonly at: number; readonly why: string }
  | { readonly kind: 'full' }

/** A request under way. */
export interface Ticket {
  readonly sentAt: number
  /** It comes from a share that was taken of the window. */
  readonly isTaken: boolean
}

/** The parts of a response that concern the rate limit. */
export interface RequestOutcome {
  readonly status: number
  readonly receivedAt: number
  readonly rate: RateReport | undefined
  /** The server's clock: whole seconds, in ms. */
  readonly date: number | undefined
  /** Milliseconds, from Retry-After. */
  readonly retryAfter: number | undefined
}

export interface WindowView {
  /** The name of the rule: an IP address or a partner id; empty if the source doesn't tell it. */
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly resetsAt: number
  /** How long a window lasts, in ms, once two resets were seen. */
  readonly length: number | undefined
}

const SEND: Decision = { kind: 'send' }
const FULL: Decision = { kind: 'full' }

const PAUSE = { baseMs: 1000, maxMs: 60_000 }
/**
 * More rules than any server has. A server that names more sends something else as keys, so everything is learned
 * again.
 */
const MOST_RULES = 8

/**
 * Has no clock and no timers; every call passes the time. The states, in the order in which `decide` checks for them:
 *
 * - full: as many requests are under way as `Concurrency` allows. Ends with a response, a failure or a cancel.
 * - paused, until a time: a 429 had a Retry-After, or no hint when to come back; then the pause doubles with every
 *   further 429 (`#strikes`). Nothing is sent.
 * - probing: nothing has been answered yet, or the last pause came from a 429 without a hint. A single request goes
 *   when the rules have room for it, because the very first response may be a 429 from a window that others have used
 *   up. Ends with any response other than a 429.
 * - limited: a rule's window has no room. Waits for the window's end or, if that is unknown, for a response.
 * - open: one more may be sent.
 */
export class Budget {
  readonly #skew = new Skew()
  readonly #concurrency: Concurrency
  readonly #rules = new Map<string, RateWindow>()
  #inflight = 0
  /** false while probing. */
  #answered = false
  #begun = false
  #pausedUntil = Number.NEGATIVE_INFINITY
  #pausedAt = Number.NEGATIVE_INFINITY
  #strikes = 0

  constructor(private readonly options: BudgetOptions) {
    this.#concurrency = new Concurrency(options.connections)
  }

  get inflight(): number {
    return this.#inflight
  }

  decide(now: number): Decision {
    if (this.#inflight >= this.#concurrency.level) return FULL
    if (now < this.#pausedUntil)
      return { kind: 'wait', at: this.#pausedUntil, why: 'the API answered 429 and asked to wait' }
    if (!this.#answered && this.#inflight > 0) return FULL
    let at = Number.NEGATIVE_INFINITY
    let why = ''
    for (const rule of this.#rules.values()) {
      rule.roll(now, this.#inflight)
      if (rule.room(now, this.#inflight, this.#concurrency.latency) >= 1) continue
      const end = rule.endsAt ?? this.#unknownEnd(rule)
      if (end <= at) continue
      at = end
      why = usedUp(rule)
    }
    if (at === Number.NEGATIVE_INFINITY) return this.#beside(now)
    return at === Number.POSITIVE_INFINITY ? FULL : { kind: 'wait', at, why }
  }

  /** What remains to be decided with siblings, if the rules have room for a request. */
  #beside(now: number): Decision {
    const { siblings } = this.options
    if (!siblings) return SEND
    for (const moment of this.#moments(now)) {
      const verdict = siblings.judge(moment)
      if (verdict === 'answer') return FULL
      if (verdict === 'go') continue
      if ('at' in verdict) return { kind: 'wait', at: verdict.at, why: usedUp(moment.rule) }
      return { kind: 'ask', question: verdict.ask }
    }
    return SEND
  }

  /** What to ask while no request waits for the answer. */
  inPassing(now: number): RowQuestion | undefined {
    for (const moment of this.#moments(now)) {
      const question = this.options.siblings?.inPassing(moment)
      if (question) return question
    }
    return undefined
  }

  asking(question: RowQuestion, now: number): void {
    this.options.siblings?.asking(question, now)
  }

  heard(question: RowQuestion, answer: Answer, now: number): void {
    this.options.siblings?.heard(question, answer, now)
  }

  #moments(now: number): Moment[] {
    const shared = { now, inflight: this.#inflight, latency: this.#concurrency.latency }
    return [...this.#rules].map(([key, rule]) => ({ key, rule, ...shared }))
  }

  send(now: number): Ticket {
    this.#inflight++
    return { sentAt: now, isTaken: this.options.siblings?.spend(this.#rules) ?? true }
  }

  /** The request is over. Without an outcome it broke off, and the server may or may not have counted it. */
  settle(ticket: Ticket, now: number, outcome: RequestOutcome | undefined): void {
    this.#inflight--
    if (!outcome) {
      for (const rule of this.#rules.values()) rule.charge(now)
      this.#concurrency.failed()
      return
    }
    const span = { sentAt: ticket.sentAt, receivedAt: outcome.receivedAt }
    if (outcome.date !== undefined) this.#skew.observe(outcome.date, span.sentAt, span.receivedAt)
    this.#learn(span, outcome, ticket)
    if (outcome.status === 429) {
      this.#refused(span, outcome)
      return
    }
    this.#answered = true
    this.#begun = true
    this.#strikes = 0
    if (outcome.status >= 500) this.#concurrency.failed()
    else this.#concurrency.answered(outcome.receivedAt - ticket.sentAt)
  }

  /** We gave up on the request; the server may or may not have counted it. */
  cancel(now: number): void {
    this.#inflight--
    for (const rule of this.#rules.values()) rule.charge(now)
  }

  /** Whether any request was answered and not refused because of the rate limit. */
  get hasBegun(): boolean {
    return this.#begun
  }

  /** The earliest time that the server's clock can show now. undefined if no response had a Date. */
  serverTime(now: number): number | undefined {
    return this.#skew.isKnown ? this.#skew.atLeast(now) : undefined
  }

  /** The tightest rule's window. */
  window(now: number): WindowView | undefined {
    let tightest: WindowView | undefined
    for (const [key, rule] of this.#rules) {
      rule.roll(now, this.#inflight)
      const remaining = Math.max(0, rule.remaining - this.#inflight)
      if (tightest && tightest.remaining <= remaining) continue
      tightest = { key, limit: rule.limit, remaining, resetsAt: rule.endsAt ?? now, length: rule.length }
    }
    return tightest
  }

  #learn(span: RequestSpan, outcome: RequestOutcome, { isTaken }: Ticket): void {
    const { rate } = outcome
    for (const [key, rule] of this.#rules) {
      rule.roll(outcome.receivedAt, this.#inflight)
      if (key !== rate?.key) rule.charge(outcome.receivedAt)
    }
    if (!rate) return
    let rule = this.#rules.get(rate.key)
    if (!rule) {
      if (this.#rules.size >= MOST_RULES) this.#rules.clear()
      rule = new RateWindow(this.#skew, this.options.reserve)
      this.#rules.set(rate.key, rule)
    }
    rule.isShared = this.options.siblings?.share(rate.key, outcome.receivedAt) ?? false
    rule.observe(rate, span, this.#inflight, this.#concurrency.latency, outcome.status === 429)
    if (!isTaken) this.options.siblings?.owe(rate.key, rule)
    for (const [key, other] of this.#rules) if (other.isForgotten(outcome.receivedAt)) this.#rules.delete(key)
  }

  #refused(span: RequestSpan, outcome: RequestOutcome): void {
    const { receivedAt, retryAfter, rate } = outcome
    if (retryAfter !== undefined) {
      if (concerns(outcome, this.options.maxWait ?? usualMaxWait) === 'everybody')
        this.#pausedUntil = Math.max(this.#pausedUntil, receivedAt + retryAfter)
      return
    }
    const rule = rate && this.#rules.get(rate.key)
    const end = rule?.endsAt
    if (rate?.remaining === 0 && end !== undefined && end > receivedAt) return
    // Requests sent before the pause began were refused for the same reason, so they count once.
    if (span.sentAt <= this.#pausedAt) return
    this.#pausedAt = receivedAt
    const { baseMs, maxMs } = this.options.pause ?? PAUSE
    const longest = Math.min(maxMs, baseMs * 2 ** this.#strikes++)
    this.#pausedUntil = Math.max(this.#pausedUntil, receivedAt + longest * (0.5 + this.options.random() / 2))
    this.#answered = false
  }

  /** When to try again under a rule whose window has an unknown end. */
  #unknownEnd(rule: RateWindow): number {
    return this.#inflight > 0 ? Number.POSITIVE_INFINITY : rule.askAgainAt
  }
}

const usedUp = ({ limit }: RateWindow): string =>
  `the rate limit of ${plural(limit, 'request')} is used up until then`

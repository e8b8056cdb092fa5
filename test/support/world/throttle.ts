/** A throttle whose requests wait in virtual time, and are answered one after the other by the test. */
import { onTestFinished } from 'vitest'
import type { RateReport } from '../../../src/engine/source/http/headers.js'
import type { RequestOutcome } from '../../../src/engine/source/rate/budget.js'
import { type Permit, type RequestClaim, Throttle } from '../../../src/engine/source/rate/throttle.js'
import type { WaitNotice } from '../../../src/engine/source/rate/wait.js'
import { settled, VirtualClock } from './clocks.js'

export const work = (tenantId = 1, priority: RequestClaim['priority'] = 'incremental'): RequestClaim => ({
  tenantId,
  priority,
})

/** What the headers said: the window ends so many milliseconds after the stand began. */
type Said = Partial<RateReport> & { readonly endsIn?: number }

export class Stand {
  readonly clock = new VirtualClock()
  readonly begun = this.clock.now
  readonly waits: WaitNotice[] = []
  readonly throttle: Throttle
  /** The permits that the throttle granted, in that order, with the claims' names. */
  readonly granted: Array<[name: string, permit: Permit]> = []
  #answered = 0

  constructor({ connections = 16, reserve = 0 } = {}) {
    const onWait = (wait: WaitNotice): void => void this.waits.push(wait)
    const settings = { connections, rateReserve: reserve, random: () => 0.5, onWait }
    this.throttle = new Throttle({ clock: this.clock, ...settings })
    onTestFinished(() => this.throttle.close())
  }

  get names(): string {
    return this.granted.map(([name]) => name).join('')
  }

  /** Requests permits: so many, named by their numbers, or these. */
  async ask(claims: number | ReadonlyArray<readonly [string, RequestClaim]>, claim = work()): Promise<void> {
    const all =
      typeof claims === 'number'
        ? Array.from({ length: claims }, (_, i) => [String(i), claim] as const)
        : claims
    for (const [name, one] of all)
      this.throttle.acquire(one).then(
        (permit) => this.granted.push([name, permit]),
        () => {},
      )
    await settled()
  }

  said(rate?: Said, more: Partial<RequestOutcome> = {}): RequestOutcome {
    const { endsIn = this.clock.now - this.begun + 60_000, ...told } = rate ?? {}
    const usual = { key: 'p', limit: 100, remaining: 99, reset: this.begun + endsIn }
    const date = Math.floor(this.clock.now / 1000) * 1000
    const answer = { status: 200, receivedAt: this.clock.now, date, retryAfter: undefined }
    return { ...answer, rate: rate && { ...usual, ...told }, ...more }
  }

  /** The oldest request that was let go and isn't answered yet. */
  next(): Permit {
    const next = this.granted[this.#answered++]
    if (!next) throw new Error(`only ${this.granted.length} requests were let go`)
    return next[1]
  }

  /** It is answered. */
  async answer(rate?: Said, more?: Partial<RequestOutcome>): Promise<void> {
    this.next().release(this.said(rate, more))
    await settled()
  }

  /** One more request is made, and answered. */
  async learn(rate?: Said, more?: Partial<RequestOutcome>): Promise<void> {
    ;(await this.throttle.acquire(work())).release(this.said(rate, more))
  }

  /** How many requests are let go after that time. */
  async after(milliseconds: number): Promise<number> {
    await this.clock.pass(milliseconds)
    return this.granted.length
  }
}

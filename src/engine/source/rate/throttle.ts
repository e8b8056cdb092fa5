/**
 * The one place that decides whether the next request may start. It considers what the rate limit's window has left
 * (budget.ts), what the warehouse hasn't stored yet (flow.ts), and who is next (queue.ts). One for the whole process
 * (docs/dev/architecture.md, What else the engine rests on).
 */
import type { Int64 } from '../../../../schema/resource.js'
import type { Clock } from '../../base/clock.js'
import { Bug } from '../../base/errors.js'
import type { Priority } from '../source.js'
import { Budget, type BudgetOptions, type RequestOutcome, type Ticket, type WindowView } from './budget.js'
import type { Flow } from './flow.js'
import { Queue } from './queue.js'
import { askRow, type RowQuestion, Siblings, type WindowSharing } from './siblings.js'
import { told, tooLong, usualMaxWait, type WaitNotice } from './wait.js'

/** The same before anything has been answered: nothing else shows yet that the program works. */
const toldAtFirst = 1000

export interface RequestClaim {
  /** The tenant whose turn it is. undefined for requests of the partner itself. */
  readonly tenantId: Int64 | undefined
  readonly priority: Priority
  readonly signal?: AbortSignal | undefined
  /** For a page that will be stored: the list that it belongs to. */
  readonly flow?: Flow | undefined
}

/** Permission to send one request now. */
export interface Permit {
  /** Since when it was waiting for the window, and when it was granted: local time in ms since the epoch. */
  readonly since: number
  readonly sentAt: number
  /** Call it once: with the outcome, or without one if the connection broke. */
  release(outcome?: RequestOutcome): void
  /** Call this instead of `release` if we gave up on the request ourselves. */
  cancel(): void
}

interface Waiter {
  readonly claim: RequestClaim
  /** Since when it has been waiting for the window, not counting the time it waits for the warehouse. */
  since: number
  readonly grant: (permit: Permit) => void
  readonly refuse: (reason: unknown) => void
}

/**
 * Every request to the API asks it first. If the warehouse has enough pages of a list to store, the list's further
 * requests are held and let go one by one: whenever a page is stored, and whenever one arrives, since that one may
 * never be stored. The others are in one of these states:
 *
 * - idle: no request waits, and no timer runs.
 * - waiting: requests wait and the budget returned `full`; the next release or cancel asks the budget again.
 * - sleeping: requests wait and the budget named a time; the timer or a release asks it again, whichever comes first.
 * - told to wait: the time that the budget named is further away than `maxWait`. Waiting requests are refused, and so
 *   are new ones: every cursor ends without another request.
 * - closed: waiting and new requests are refused with a Bug. Requests under way still release their permits.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #budget: Budget
  readonly #maxWait: number
  /** Called once for every wait of more than a minute. */
  readonly #onWait: ((wait: WaitNotice) => void) | undefined
  readonly #sharing: WindowSharing | undefined
  readonly #queue = new Queue<Waiter>()
  /** Pages that wait for the warehouse, oldest first. */
  readonly #held = new Set<Waiter>()
  #awaitsStore = false
  #closed = false
  #wakeAt = Number.POSITIVE_INFINITY
  #sleeper: AbortController | undefined

  /** Since when the throttle has been sleeping, in ms since the epoch, and how long it has slept before. */
  #asleepSince: number | undefined
  #slept = 0

  /** Until when people have been told that everybody waits. */
  #toldUntil = Number.NEGATIVE_INFINITY

  constructor({
    clock,
    random = Math.random,
    rateReserve: reserve,
    maxWait = usualMaxWait,
    onWait,
    sharing,
    ...limits
  }: Omit<BudgetOptions, 'reserve' | 'random' | 'siblings'> & {
    readonly clock: Clock
    /** See `BudgetOptions.reserve`. */
    readonly rateReserve: number
    readonly random?: () => number
    readonly onWait?: ((wait: WaitNotice) => void) | undefined
    /** Absent: this process is the only one. */
    readonly sharing?: WindowSharing | undefined
  }) {
    this.#clock = clock
    this.#maxWait = maxWait
    this.#onWait = onWait
    this.#sharing = sharing
    const siblings = sharing && new Siblings(sharing.siblings)
    this.#budget = new Budget({ ...limits, reserve, random, maxWait, siblings })
  }

  /** Local time in ms since the epoch. */
  now(): number {
    return Number(this.#clock.nowMicros()) / 1000
  }

  /** The earliest time that the server's clock can show, in ms since the epoch. undefined if no response had a Date. */
  serverTime(): number | undefined {
    return this.#budget.serverTime(this.now())
  }

  /** The tightest rate-limit window, if one is known. */
  window(): WindowView | undefined {
    return this.#budget.window(this.now())
  }

  /** Milliseconds, up to now, in which requests waited for the rate limit. */
  waited(): number {
    const since = this.#asleepSince
    return this.#slept + (since === undefined ? 0 : Math.max(0, this.now() - since))
  }

  /** Whether requests are waiting for the rate limit now. */
  get isWaiting(): boolean {
    return this.#asleepSince !== undefined
  }

  acquire(claim: RequestClaim): Promise<Permit> {
    const { signal, flow } = claim
    if (this.#closed) return Promise.reject(closed())
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#held.delete(waiter)
        this.#queue.delete(waiter, claim.priority, String(claim.tenantId))
        reject(signal?.reason)
        if (this.#queue.size === 0) this.#wake()
      }
      const settle = <T>(end: (value: T) => void): ((value: T) => void) => {
        return (value) => {
          signal?.removeEventListener('abort', abort)
          end(value)
        }
      }
      const waiter: Waiter = { claim, since: this.now(), grant: settle(resolve), refuse: settle(reject) }
      signal?.addEventListener('abort', abort, { once: true })
      if (!flow?.isFull) this.#enter(waiter)
      else {
        this.#held.add(waiter)
        this.#awaitStore(flow)
      }
    })
  }

  close(): void {
    this.#closed = true
    for (const waiter of [...this.#queue.drain(), ...this.#held]) waiter.refuse(closed())
    this.#held.clear()
    this.#wake()
  }

  #enter(waiter: Waiter): void {
    const { priority, tenantId } = waiter.claim
    waiter.since = this.now()
    this.#queue.push(waiter, priority, String(tenantId))
    this.#pump()
  }

  /** Lets the oldest held page go if the warehouse can take another one soon. */
  #letGo(): void {
    const [waiter, next] = this.#held
    if (!waiter) return
    const isFull = waiter.claim.flow?.isFull ?? false
    if (!isFull) {
      this.#held.delete(waiter)
      this.#enter(waiter)
    }
    const { flow } = (isFull ? waiter : next)?.claim ?? {}
    if (flow) this.#awaitStore(flow)
  }

  #awaitStore(flow: Flow): void {
    if (this.#awaitsStore) return
    this.#awaitsStore = true
    void flow.stored().then(() => {
      this.#awaitsStore = false
      this.#letGo()
    })
  }

  #pump(): void {
    while (this.#queue.size > 0) {
      const now = this.now()
      const decision = this.#budget.decide(now)
      if (decision.kind !== 'send') {
        if (decision.kind === 'wait') this.#wait(decision, now)
        if (decision.kind === 'ask') this.#ask(decision.question)
        return
      }
      const waiter = this.#queue.shift()
      waiter?.grant(this.#permit(this.#budget.send(now), waiter))
    }
    this.#wake()
  }

  #permit(ticket: Ticket, { claim: { flow }, since }: Waiter): Permit {
    let open = true
    const once = (settle: () => void): void => {
      if (!open) return
      open = false
      settle()
      const question = this.#sharing && this.#budget.inPassing(this.now())
      if (question) this.#ask(question)
      this.#pump()
      if (flow) this.#letGo()
    }
    return {
      since,
      sentAt: ticket.sentAt,
      release: (outcome) => once(() => this.#budget.settle(ticket, this.now(), outcome)),
      cancel: () => once(() => this.#budget.cancel(this.now())),
    }
  }

  #ask(question: RowQuestion): void {
    if (!this.#sharing || this.#closed) return
    this.#budget.asking(question, this.now())
    askRow(this.#sharing.row, this.#clock, question, (answer) => {
      this.#budget.heard(question, answer, this.now())
      this.#pump()
    })
  }

  #wait({ at, why }: { readonly at: number; readonly why: string }, now: number): void {
    const milliseconds = at - now
    if (milliseconds > this.#maxWait) {
      const times = { until: at, now, maxWait: this.#maxWait }
      const refusal = tooLong(`The request was not sent, because ${why}`, times)
      for (const waiter of this.#queue.drain()) waiter.refuse(refusal)
      this.#wake()
      return
    }
    // The time shifts a little with each response, as more is learned about the server's clock.
    const least = this.#budget.hasBegun ? told : toldAtFirst
    if (milliseconds > least && at > this.#toldUntil + told) {
      this.#toldUntil = at
      this.#onWait?.({ who: 'every request', milliseconds, why })
    }
    this.#sleep(at, now)
  }

  #sleep(at: number, now: number): void {
    if (this.#sleeper && this.#wakeAt === at) return
    this.#wake()
    const sleeper = new AbortController()
    this.#sleeper = sleeper
    this.#asleepSince = now
    this.#wakeAt = at
    // A timer longer than 2^31 ms would fire immediately.
    const milliseconds = Math.min(Math.max(1, Math.ceil(at - now)), 3_600_000)
    void this.#clock.sleep(milliseconds, sleeper.signal).then(() => {
      if (sleeper !== this.#sleeper) return
      this.#awake()
      this.#pump()
    })
  }

  /** Ends the sleep, if there is one: no timer may outlive the requests that wait for it. */
  #wake(): void {
    const sleeper = this.#sleeper
    this.#awake()
    sleeper?.abort()
  }

  #awake(): void {
    this.#slept = this.waited()
    this.#asleepSince = undefined
    this.#sleeper = undefined
  }
}

function closed(): Bug {
  return new Bug('A request was made after the API client was closed')
}

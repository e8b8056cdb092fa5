/**
 * What this process has taken of rate-limit windows that it shares with its siblings: processes that work for the same
 * warehouse (docs/scale.md, One rate window). budget.ts asks it before each request, and throttle.ts brings the
 * warehouse's answers.
 */
import type { Clock } from '../../base/clock.js'
import { hundredth, type SharedWindow, type WindowClaim, type WindowRow } from '../../base/windowclaim.js'
import type { RateWindow } from './window.js'

/** Whether siblings are at work: `there`, or `perhaps`, if somebody has shared the current window. */
export type HasSiblings = 'there' | 'perhaps'

/** With whom rate-limit windows are shared, and by which row. */
export interface WindowSharing {
  readonly siblings: HasSiblings
  readonly row: SharedWindow
}

/** How long requests wait for the row, in milliseconds. Then they go without it. */
const answeredWithin = 2000
/** Milliseconds without the warehouse before it is asked again. */
const away = 5000
/** Milliseconds between two claims while a refused one may be granted again. */
const betweenClaims = 100
/** Milliseconds between two looks for siblings that weren't there. */
const betweenLooks = 60_000

/** What to ask the warehouse. `look`: only whether anybody shares the rule's window. */
export interface RowQuestion {
  readonly kind: 'take' | 'look'
  readonly claim: WindowClaim
}

/** `row`: after a claim. A number or undefined: what a look has found. `away`: no answer. */
export type Answer = WindowRow | number | undefined | 'away'

/** A rule of the rate limit, and the moment in which a request may go. */
export interface Moment {
  readonly key: string
  readonly rule: RateWindow
  readonly now: number
  readonly inflight: number
  readonly latency: number
}

/** What a request of this process has to wait for. `at` in ms of our clock. */
type Verdict = 'go' | 'answer' | { readonly at: number } | { readonly ask: RowQuestion }

/**
 * One rule of the rate limit, as this process shares it:
 *
 * - alone: no sibling is known. The governor decides as it does for a single process.
 * - holding: requests are taken and not yet sent. They go without asking anybody.
 * - asking: the last one is sent; the warehouse is asked for another hundredth.
 * - refused: the window has nothing left for anybody. Waits for its end, then asks.
 * - away: the warehouse didn't answer. One request at a time goes, and none of the window's last hundredth.
 */
class Account {
  /** Taken and not sent, in the window that ends at `resetsAt` (seconds by the server's clock). */
  left = 0
  resetsAt = Number.NEGATIVE_INFINITY
  refusedUntil = Number.NEGATIVE_INFINITY
  awayUntil = Number.NEGATIVE_INFINITY
  /** When the warehouse was asked last. */
  askedAt = Number.NEGATIVE_INFINITY
  isAsking = false
  /** Requests that were sent without being taken, in the window after `owedSince`. */
  owed = 0
  owedSince = Number.NEGATIVE_INFINITY

  constructor(public isShared: boolean) {}

  /** Whether something is left of the window after the one that ended at `over`. */
  holds(over: number): boolean {
    return this.left > 0 && this.resetsAt > over
  }
}

/** The accounts of all rules. */
export class Siblings {
  readonly #accounts = new Map<string, Account>()

  constructor(private readonly has: HasSiblings) {}

  /** Whether a row says what siblings use of this rule's window. */
  share(key: string, now: number): boolean {
    const { isShared, awayUntil } = this.#of(key)
    return isShared && now >= awayUntil
  }

  /** Whether a request may go under this rule, as far as siblings are concerned. */
  judge({ key, rule, now, inflight, latency }: Moment): Verdict {
    const account = this.#of(key)
    if (!account.isShared || account.holds(rule.over)) return 'go'
    account.left = 0
    if (now < account.awayUntil) return this.#withoutRow(rule, now, inflight)
    if (account.isAsking) return 'answer'
    const at = account.refusedUntil > rule.over ? this.#nextLook(account, rule, now) : now
    if (now < at) return { at }
    const count = hundredth(rule.limit)
    const claim = this.#claim({ key, rule, now, latency }, count)
    return claim ? { ask: { kind: 'take', claim } } : 'go'
  }

  /**
   * When to ask again after a window that had nothing left. A process that has had few responses may take the API's clock
   * to be a second later than it is. Those that know better would take each window whole before it asks, and it would
   * never get a response to learn from. So it looks as soon as they may have begun the next window.
   */
  #nextLook({ refusedUntil, askedAt }: Account, rule: RateWindow, now: number): number {
    if (rule.isAfter(refusedUntil)) return now
    return Math.min(rule.passes(refusedUntil), Math.max(rule.mayPass(refusedUntil), askedAt + betweenClaims))
  }

  /**
   * All siblings that the warehouse leaves alone would use what remains of the window at the same time, and the whole
   * partner would be refused. That was judged worse than a slow hour: without the warehouse little can be stored anyway.
   * Ending the run was judged worse than both.
   */
  #withoutRow(rule: RateWindow, now: number, inflight: number): Verdict {
    if (inflight > 0) return 'answer'
    return !rule.told || rule.remaining > hundredth(rule.limit) ? 'go' : { at: rule.endsAt ?? now + away }
  }

  /** undefined if responses don't say when the window ends: then it can't be shared. */
  #claim({ key, rule, now, latency }: Omit<Moment, 'inflight'>, count: number): WindowClaim | undefined {
    const name = rule.name(now, latency)
    if (!name) return undefined
    const { resetsAt, owed, owedSince } = this.#of(key)
    return {
      rule: key,
      limit: rule.limit,
      count,
      most: rule.shareable,
      ...name,
      // Only a response ties the two names together: without one, a window that has ended by its name is over.
      was: name.isSaid && resetsAt > rule.over ? resetsAt : name.resetsAt,
      owed: owedSince === rule.over ? owed : 0,
    }
  }

  /**
   * What to ask in passing, without any request waiting for it: whether there are siblings; or, once a response has said
   * when the window ends, to tell the siblings that took from it before.
   */
  inPassing({ key, rule, now, latency }: Omit<Moment, 'inflight'>): RowQuestion | undefined {
    const account = this.#of(key)
    if (!rule.told || account.isAsking || now < account.awayUntil) return undefined
    if (!account.isShared && now < account.askedAt + betweenLooks) return undefined
    if (account.isShared && !(account.resetsAt > rule.over && rule.isAfter(account.resetsAt)))
      return undefined
    const claim = this.#claim({ key, rule, now, latency }, 0)
    return claim && { kind: account.isShared ? 'take' : 'look', claim }
  }

  asking({ claim: { rule } }: RowQuestion, now: number): void {
    const account = this.#of(rule)
    account.isAsking = true
    account.askedAt = now
  }

  heard({ kind, claim }: RowQuestion, answer: Answer, now: number): void {
    const account = this.#of(claim.rule)
    account.isAsking = false
    // A command that found the row may have no right to write it: it goes on as it would without siblings.
    if (answer === 'away' && this.has === 'perhaps') account.isShared = false
    account.awayUntil = answer === 'away' && account.isShared ? now + away : Number.NEGATIVE_INFINITY
    if (answer === 'away') return
    if (kind === 'look') account.isShared ||= typeof answer === 'number' && answer >= claim.from
    if (typeof answer !== 'object') return
    const { resetsAt, granted } = answer
    account.resetsAt = resetsAt
    account.owed = Math.max(0, account.owed - claim.owed)
    account.left += granted
    if (granted < claim.count) account.refusedUntil = resetsAt
  }

  /** A request goes: whether all rules have it from a hundredth that was taken. */
  spend(rules: ReadonlyMap<string, RateWindow>): boolean {
    let isTaken = rules.size > 0
    for (const [key, { over }] of rules) {
      const account = this.#of(key)
      if (account.holds(over)) account.left--
      else isTaken = false
    }
    return isTaken
  }

  /** A request that wasn't taken has been answered under this rule. */
  owe(key: string, { over }: RateWindow): void {
    const account = this.#of(key)
    if (account.owedSince !== over) account.owed = 0
    account.owedSince = over
    account.owed++
  }

  #of(key: string): Account {
    const account = this.#accounts.get(key) ?? new Account(this.has === 'there')
    this.#accounts.set(key, account)
    return account
  }
}

/**
 * Calls `hear` when the row has answered, or not in time. A claim that is answered too late is heard too: what it took is
 * used.
 */
export function askRow(
  row: SharedWindow,
  clock: Clock,
  { claim, kind }: RowQuestion,
  hear: (answer: Answer) => void,
): void {
  const inTime = new AbortController()
  const heard = (answer: Answer): void => {
    inTime.abort()
    hear(answer)
  }
  const asked: Promise<Answer> = kind === 'look' ? row.find(claim.rule) : row.take(claim)
  asked.then(heard, () => heard('away'))
  void clock.sleep(answeredWithin, inTime.signal).then(() => {
    if (!inTime.signal.aborted) hear('away')
  })
}

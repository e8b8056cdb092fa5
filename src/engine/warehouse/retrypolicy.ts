/**
 * Retries work on a database that is away, for as long as that is worthwhile. warehouse.ts uses it for everything it
 * reads and writes.
 */
import type { Clock } from '../base/clock.js'
import { Retry, Stop } from '../base/errors.js'
import { isOfTable } from './classify.js'

/** Waits between attempts while the database is away, in milliseconds. */
const usualWaits = [0, 50, 250, 1000, 2000, 4000, 8000, 15_000, 30_000, 60_000]

/**
 * How long a database may be away, in milliseconds. With the last attempt and the end of the run, about two minutes.
 */
const longestAway = 90_000

/** An attempt counts as downtime for at most this long, because a silent connection is noticed only after some time. */
const mostOfAnAttempt = 30_000

/** After a signal, in milliseconds: how long to retry a database that is away, and how long to wait for an answer. */
const askedAfterSignal = 3000
const answeredAfterSignal = 6000

/**
 * there:    the last work succeeded.
 * away:     work failed with Retry, and nothing has succeeded since. Attempts continue, with longer and longer waits.
 * given up: the database was away for too long, or a signal came meanwhile. Work is now tried only once, and after a
 *           signal not at all. A success leads back to `there`.
 */
export class RetryPolicy {
  readonly #waits: readonly number[]
  /** Whether the database has ever answered. Until then, a wrong address must not take two minutes to be reported. */
  #reached = false
  /** In microseconds. */
  #awaySince: bigint | undefined
  #signalledAt: bigint | undefined
  #gaveUp = false
  /** Ends work under way, because the work itself may hang forever. */
  readonly #underWay = new Set<(error: unknown) => void>()

  constructor(
    private readonly options: {
      readonly clock: Clock
      /** Maps a driver's error to the classes of errors.ts. */
      readonly classify: (error: unknown) => Error
      /** Waits between attempts, in milliseconds; tests shorten them. */
      readonly waits?: readonly number[] | undefined
      /** Fires when the process should end; then no wait is long. */
      readonly signal?: AbortSignal | undefined
    },
  ) {
    this.#waits = options.waits ?? usualWaits
    const { signal } = options
    if (signal?.aborted) this.#signalled()
    else signal?.addEventListener('abort', () => this.#signalled(), { once: true })
  }

  get hasGivenUp(): boolean {
    return this.#gaveUp
  }

  /** Runs the work, and retries it while the database is away: the work must be safe to repeat. */
  async trying<T>(work: () => Promise<T>): Promise<T> {
    const { clock, classify, signal } = this.options
    let away: bigint | undefined
    for (let attempt = 0; ; attempt++) {
      const begun = clock.nowMicros()
      try {
        if (this.#gaveUp && signal?.aborted) throw new Retry('The warehouse did not answer before the signal')
        const result = await this.bounded(work())
        this.#reached = true
        this.#awaySince = undefined
        this.#gaveUp = false
        return result
      } catch (caught) {
        const error = classify(caught)
        if (!(error instanceof Retry)) throw error
        const { cause } = error.details
        // A table that stays locked is retried a few times, and then only fails its cursor.
        if (isOfTable(cause) && attempt > 1) throw cause
        const now = clock.nowMicros()
        away ??= now - least(now - begun, BigInt(mostOfAnAttempt) * 1000n)
        this.#awaySince ??= away
        const wait = this.#wait(attempt, now, least(away, this.#awaySince))
        if (wait === undefined) throw this.#giveUp(error)
        await clock.sleep(wait, signal?.aborted ? undefined : signal)
      }
    }
  }

  /** The result of some work. After a signal, it waits for the answer only a few seconds. */
  bounded<T>(work: Promise<T>): Promise<T> {
    if (!this.options.signal) return work
    return new Promise((resolve, reject) => {
      this.#underWay.add(reject)
      work.then(resolve, reject).finally(() => this.#underWay.delete(reject))
    })
  }

  /** Milliseconds until the next attempt. undefined if there is none. */
  #wait(attempt: number, now: bigint, since: bigint): number | undefined {
    if (this.#gaveUp) return undefined
    if (this.#signalledAt !== undefined) {
      const left = askedAfterSignal - Number(now - this.#signalledAt) / 1000
      return left > 0 ? Math.min(250, left) : undefined
    }
    const left = longestAway - Number(now - since) / 1000
    const wait = this.#reached || attempt < 4 ? this.#waits[attempt] : undefined
    return wait === undefined || left <= 0 ? undefined : Math.min(wait, left)
  }

  #giveUp(error: Retry): Stop {
    this.#gaveUp = true
    return new Stop(error.message, {
      exitCode: 3,
      hint:
        error.hint ??
        'Expected a warehouse that can be reached: check warehouse.url, the server and the network, then run the same command again',
      cause: error,
    })
  }

  #signalled(): void {
    const { clock } = this.options
    this.#signalledAt = clock.nowMicros()
    void clock.sleep(answeredAfterSignal).then(() => {
      if (this.#underWay.size === 0) return
      const stop = this.#giveUp(new Retry('The warehouse has not answered since the signal'))
      for (const end of this.#underWay) end(stop)
    })
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

import { setMaxListeners } from 'node:events'

/** 128 plus the signal's number, as shells have it. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** More than the requests of the largest concurrency settings. */
const mostListeners = 5000

/**
 * SIGINT and SIGTERM ask the work to stop where it is safe; a second one ends the process at once, which is safe for
 * the warehouse too (whatever is not committed is as if it had not been), but leaves the lease to expire.
 */
export class Signals {
  readonly #controller = new AbortController()
  #exitCode: 130 | 143 | undefined
  /** A command that runs until it is stopped is not interrupted by a signal, but done. */
  expected = false
  /** Says where the next run takes up the work; set by whoever does work. */
  resumesAt: (() => string) | undefined
  /** Called before the process ends at once. */
  cleanUp: (() => void) | undefined

  constructor(private readonly note: (text: string) => void) {
    // Every request under way listens to this signal, or to one derived from it: hundreds of listeners are no leak.
    setMaxListeners(0, this.signal)
    setMaxListeners(mostListeners)
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => this.#receive(name))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Set once a signal has come that interrupted the work. */
  get exitCode(): number | undefined {
    return this.expected ? undefined : this.#exitCode
  }

  #receive(name: keyof typeof exitCodes): void {
    if (this.#exitCode !== undefined) {
      this.cleanUp?.()
      process.exit(this.#exitCode)
    }
    this.#exitCode = exitCodes[name]
    if (!this.expected) this.note('Stopping after the transaction in hand; once more to stop at once.')
    this.#controller.abort()
  }
}

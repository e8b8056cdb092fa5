import { setMaxListeners } from 'node:events'
import type { Io, SignalName } from './io.js'

/** 128 plus the number of the signal: the convention of shells. */
const exitCodes: Readonly<Record<SignalName, 130 | 143>> = { SIGINT: 130, SIGTERM: 143 }

/**
 * How long work may take to stop after the first signal, in milliseconds. Work that hangs, for example on a database
 * that doesn't answer, must not keep the process alive. Nor may the event loop run dry, which would end the process
 * with a different exit code.
 */
const patience = 10_000

/**
 * SIGINT and SIGTERM. The first signal asks the work to stop after the current transaction. The second ends the process
 * immediately: the warehouse isn't harmed, since a transaction is committed completely or not at all, but the lease
 * stays until it expires.
 */
export class Signals {
  readonly #controller = new AbortController()
  #exitCode: 130 | 143 | undefined
  /** true: a signal is the normal end of the command, not an interruption. */
  expected = false
  /** Describes where the next run resumes the work. The work sets it. */
  resumesAt: (() => string) | undefined
  /** Called with the exit code if the work doesn't end by itself after a signal. */
  overdue: ((exitCode: number) => void) | undefined
  /** Called before a second signal ends the process. */
  cleanUp: (() => void) | undefined

  #overdue: NodeJS.Timeout | undefined
  readonly #leave: () => void

  constructor(
    private readonly io: Pick<Io, 'onSignal' | 'exit'>,
    private readonly note: (text: string) => void,
  ) {
    // Every request under way listens to this signal or to one derived from it, so Node would warn of a leak.
    setMaxListeners(0, this.signal)
    this.#leave = io.onSignal((name) => this.#receive(name))
  }

  /** The work has ended, so signals no longer concern it. */
  close(): void {
    clearTimeout(this.#overdue)
    this.#leave()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Set once a signal has interrupted the work. */
  get exitCode(): number | undefined {
    return this.expected ? undefined : this.#exitCode
  }

  #receive(name: SignalName): void {
    if (this.#exitCode !== undefined) {
      this.cleanUp?.()
      this.io.exit(this.#exitCode)
      return
    }
    this.#exitCode = exitCodes[name]
    if (!this.expected)
      this.note('Stopping after the current transaction; send the signal again to stop immediately.')
    const exitCode = this.#exitCode
    this.#overdue = setTimeout(() => this.overdue?.(exitCode), patience)
    this.#controller.abort()
  }
}

/** The signals as a command sees them. */
export type SignalDesk = Pick<
  Signals,
  'signal' | 'exitCode' | 'expected' | 'resumesAt' | 'overdue' | 'cleanUp'
>

/** For work that doesn't listen to the process itself: this signal tells it to end. */
export const stillSignals = (signal: AbortSignal): SignalDesk => ({
  signal,
  exitCode: undefined,
  expected: true,
  resumesAt: undefined,
  overdue: undefined,
  cleanUp: undefined,
})

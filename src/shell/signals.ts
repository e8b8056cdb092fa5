import { setMaxListeners } from 'node:events'
import type { Io, SignalName } from './io.js'

/** 128 plus the number of the signal: the convention of shells. */
const exitCodes: Readonly<Record<SignalName, 130 | 143>> = { SIGINT: 130, SIGTERM: 143 }

/**
 * The work that the first signal has asked to stop may take so long, in milliseconds. Work that hangs, on a database
 * that says nothing for example, must not keep the process alive; nor may the event loop run dry, which would end the
 * process with an exit code of its own.
 */
const patience = 10_000

/**
 * SIGINT and SIGTERM. The first signal asks the work to stop after the transaction in hand. The second ends the process
 * at once: the warehouse takes no harm, since a transaction is committed whole or not at all, but the lease stays until
 * it expires.
 */
export class Signals {
  readonly #controller = new AbortController()
  #exitCode: 130 | 143 | undefined
  /** true: a signal is the usual end of the command, and no interruption. */
  expected = false
  /** Says where the next run resumes the work; the work sets it. */
  resumesAt: (() => string) | undefined
  /** Called with the exit code when the work does not end by itself after a signal. */
  overdue: ((exitCode: number) => void) | undefined
  /** Called before a second signal ends the process. */
  cleanUp: (() => void) | undefined

  #overdue: NodeJS.Timeout | undefined
  readonly #leave: () => void

  constructor(
    private readonly io: Pick<Io, 'onSignal' | 'exit'>,
    private readonly note: (text: string) => void,
  ) {
    // Every request under way listens to this signal or to one derived from it: Node would warn of a leak.
    setMaxListeners(0, this.signal)
    this.#leave = io.onSignal((name) => this.#receive(name))
  }

  /** The work has ended: signals are no concern of it any more. */
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

/** Of work that does not listen to the process itself: it is told to end by this signal. */
export const stillSignals = (signal: AbortSignal): SignalDesk => ({
  signal,
  exitCode: undefined,
  expected: true,
  resumesAt: undefined,
  overdue: undefined,
  cleanUp: undefined,
})

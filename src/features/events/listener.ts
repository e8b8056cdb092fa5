/*
 * The listener's part in ringing: while nobody holds the lease, it takes a turn whenever a cursor is due. Used by
 * `listen`, and by `schedule` between its jobs.
 */
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { LeaseHeld } from '../../engine/warehouse/lease/holder.js'
import { isSuperseded } from '../../engine/warehouse/lease/oneconfiguration.js'
import type { CursorKey } from '../../engine/warehouse/state/cursors.js'
import { dueCursors } from './events.js'
import type { Inbox } from './inbox.js'
import { RingMemory, type RingSettings } from './ringmemory.js'
import { takeTurn } from './turn.js'

/** Milliseconds between two checks of the inbox when nothing is received: waiting events become due. */
const betweenLooks = 1000
/** Milliseconds between two requests for the authorizations: no run may have requested them for longer. */
const betweenQuestions = 3_600_000
/** Milliseconds to wait after a failed turn; twice as many after each further one, up to the longest. */
const afterFailure = 10_000
const longestAfterFailure = 300_000

export class Listener {
  readonly #memory = new RingMemory()
  #wake: AbortController = new AbortController()
  /** The current turn; a job that is about to claim the lease ends it. */
  #turn: AbortController | undefined
  #isPaused = 0
  /** No turn before then, in ms since the epoch: because of the rate limit's window, the lease, or a failure. */
  #restsUntil = 0
  #asksAt = 0
  /** Turns that failed one after the other. */
  #failures = 0
  #ended: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly parts: {
      readonly deps: Dependencies
      readonly inbox: Inbox
      readonly settings: RingSettings
      /** Called instead of trying again when a process with other settings has written the warehouse. */
      readonly superseded?: ((error: Error) => void) | undefined
    },
  ) {}

  /** Events were received: checks right away what is due. */
  received(): void {
    this.#wake.abort()
  }

  /** An event named an unknown tenant: the next turn requests the authorizations. */
  askAuthorizations(): void {
    this.#asksAt = 0
    this.received()
  }

  /** Takes no turns while work that claims the lease itself is running. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#isPaused += 1
    this.#turn?.abort()
    await this.#ended
    try {
      return await work()
    } finally {
      this.#isPaused -= 1
      this.received()
    }
  }

  /**
   * Takes turns until the signal fires. Nothing that a turn ends with ends the listener: nobody else would ring until a
   * person notices. `tell` is called after each failed turn, and when one works again.
   */
  async run(signal: AbortSignal, tell: (isFailing: boolean) => void = () => {}): Promise<void> {
    const { clock } = this.parts.deps
    this.#asksAt = this.#now + betweenQuestions
    // Doesn't derive a signal from one that lives as long as the program: the derived signal would live as long.
    const end = (): void => {
      this.#wake.abort()
      this.#turn?.abort(signal.reason)
    }
    signal.addEventListener('abort', end, { once: true })
    while (!signal.aborted) {
      this.#wake = new AbortController()
      const pause = await this.#pause()
      if (pause > 0) {
        if (!signal.aborted) await clock.sleep(pause, this.#wake.signal)
        continue
      }
      const before = this.#failures
      const turn = this.#take(signal)
      this.#ended = turn
      this.#restsUntil = this.#now + (await turn)
      if (before > 0 || this.#failures > 0) tell(this.#failures > 0)
    }
    signal.removeEventListener('abort', end)
  }

  get #now(): number {
    return Number(this.parts.deps.clock.nowMicros() / 1000n)
  }

  /** For how many ms no turn is taken. New events don't shorten the wait that the last turn requested. */
  async #pause(): Promise<number> {
    const rests = this.#restsUntil - this.#now
    if (rests > 0) return rests
    return this.#isPaused > 0 ? betweenLooks : Math.min(betweenLooks, await this.#dueIn())
  }

  /**
   * In how many ms a turn would ring anything: claiming the lease costs more than this check. If the check fails, a turn
   * reports why.
   */
  async #dueIn(): Promise<number> {
    const { deps, inbox, settings } = this.parts
    const due = await dueCursors(inbox, fromMicros(deps.clock.nowMicros())).catch(() => undefined)
    if (due === undefined) return 0
    const rest = (key: CursorKey): number =>
      Math.max(0, this.#memory.restsUntil(key, settings.settle) - this.#now)
    return this.#asksAt <= this.#now ? 0 : Math.min(Number.POSITIVE_INFINITY, ...due.map(rest))
  }

  /** Takes a turn; resolves to the milliseconds until the next one may be taken. Never rejects. */
  async #take(signal: AbortSignal): Promise<number> {
    const { deps, inbox, settings } = this.parts
    if (signal.aborted || this.#isPaused > 0) return 0
    const its = new AbortController()
    this.#turn = its
    const asksAuthorizations = this.#asksAt <= this.#now
    try {
      const end = await takeTurn({
        inbox,
        settings,
        memory: this.#memory,
        asksAuthorizations,
        deps: { ...deps, signal: its.signal },
      })
      this.#failures = 0
      if (asksAuthorizations) this.#asksAt = this.#now + betweenQuestions
      if (end.by === 'window') return Math.max(betweenLooks, end.until - this.#now)
      return end.by === 'wanted' ? betweenLooks : 0
    } catch (error) {
      if (signal.aborted || its.signal.aborted) return 0
      // The holder of the lease rings, too.
      if (error instanceof LeaseHeld) return betweenLooks
      if (isSuperseded(error) && this.parts.superseded) {
        this.parts.superseded(error)
        return betweenLooks
      }
      return this.#failed(error)
    } finally {
      this.#turn = undefined
    }
  }

  #failed(error: unknown): number {
    this.parts.deps.observer.survived?.(
      error,
      'Events wait: the cursors that they made due could not be read',
    )
    this.#failures += 1
    return Math.min(longestAfterFailure, afterFailure * 2 ** (this.#failures - 1))
  }
}

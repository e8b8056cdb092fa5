/*
 * The listener's part in ringing: as long as nobody holds the lease, it takes a turn whenever a cursor is due. Used by
 * `listen`, and by `schedule` between its jobs.
 */
import { describeError } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import type { CursorKey } from '../../engine/warehouse/cursors.js'
import { LeaseHeld } from '../../engine/warehouse/lease.js'
import type { Inbox } from './inbox.js'
import { isExpected, RingMemory, type RingSettings } from './ringing.js'
import { takeTurn } from './turn.js'
import { dueCursors } from './waiting.js'

export interface ListenerParts {
  readonly deps: Dependencies
  readonly inbox: Inbox
  readonly settings: RingSettings
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void }
}

/** Milliseconds between two looks into the inbox where nobody says that something came: of what waits for its time. */
const betweenLooks = 1000
/** Milliseconds between two questions for the authorizations: no run may have asked for longer. */
const betweenQuestions = 3_600_000
/** Milliseconds to wait after a turn that failed. */
const afterFailure = 10_000

export class Listener {
  readonly #memory = new RingMemory()
  #wake: AbortController = new AbortController()
  /** The turn under way; a job that is about to claim the lease ends it. */
  #turn: AbortController | undefined
  #isPaused = 0
  /** No turn before then, in ms since the epoch: of the rate limit's window, the lease, or what failed. */
  #restsUntil = 0
  #asksAt = 0
  #ended: Promise<void> = Promise.resolve()

  constructor(private readonly parts: ListenerParts) {}

  /** Events were received: what is due is looked for now. */
  received(): void {
    this.#wake.abort()
  }

  /** A tenant is named that nobody knows: the next turn asks who is granted. */
  askAuthorizations(): void {
    this.#asksAt = 0
    this.received()
  }

  /** Keeps from taking turns while the work goes on that claims the lease itself. */
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

  /** Takes turns until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.parts.deps
    this.#asksAt = this.#now + betweenQuestions
    // No signal is made of one that lives as long as the program: what is made of it would stay as long.
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
      const turn = this.#take(signal)
      this.#ended = turn.then(() => {})
      this.#restsUntil = this.#now + (await turn)
    }
    signal.removeEventListener('abort', end)
  }

  get #now(): number {
    return Number(this.parts.deps.clock.nowMicros() / 1000n)
  }

  /** For how many ms no turn is taken. Events that come meanwhile do not shorten what the last turn has asked for. */
  async #pause(): Promise<number> {
    const rests = this.#restsUntil - this.#now
    if (rests > 0) return rests
    return this.#isPaused > 0 ? betweenLooks : Math.min(betweenLooks, await this.#dueIn())
  }

  /** In how many ms a turn would ring anything: a claim of the lease costs more than this look. */
  async #dueIn(): Promise<number> {
    const { deps, inbox, settings } = this.parts
    const due = await dueCursors(inbox, fromMicros(deps.clock.nowMicros())).catch((error: unknown) => {
      if (!isExpected(error)) throw error
      return []
    })
    const rest = (key: CursorKey): number =>
      Math.max(0, this.#memory.restsUntil(key, settings.settle) - this.#now)
    return this.#asksAt <= this.#now ? 0 : Math.min(Number.POSITIVE_INFINITY, ...due.map(rest))
  }

  /** Takes a turn; resolves to the milliseconds after which another one may be taken. */
  async #take(signal: AbortSignal): Promise<number> {
    const { deps, inbox, settings, log } = this.parts
    if (signal.aborted || this.#isPaused > 0) return 0
    const its = new AbortController()
    this.#turn = its
    const asksAuthorizations = this.#asksAt <= this.#now
    try {
      const end = await takeTurn({
        ...{ inbox, settings, memory: this.#memory, asksAuthorizations },
        deps: { ...deps, signal: its.signal },
      })
      if (asksAuthorizations) this.#asksAt = this.#now + betweenQuestions
      if (end.by === 'window') return Math.max(betweenLooks, end.resetsAt - this.#now)
      return end.by === 'wanted' ? betweenLooks : 0
    } catch (error) {
      if (signal.aborted || its.signal.aborted) return 0
      if (!isExpected(error)) throw error
      // Whoever holds the lease rings, too.
      if (error instanceof LeaseHeld) return betweenLooks
      log.warn(
        { error: describeError(error) },
        'Events wait: the cursors that they made due could not be read',
      )
      return afterFailure
    } finally {
      this.#turn = undefined
    }
  }
}

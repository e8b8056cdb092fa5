/*
 * What rings may use of the rate limit: a share of each window while planned work waits, or, with targets, at all times.
 * Requests count as they are sent: a ring may read many pages.
 */
import type { CursorHands } from '../../engine/run/cursorhands.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { Source } from '../../engine/source/source.js'
import type { RingMemory, RingSettings } from './ringmemory.js'

export class RingShare {
  /** The sources of the rings under way: each counts its own requests. */
  readonly #underWay = new Set<Source>()
  #endedRequests = 0
  /** How many of all these requests the window was charged for. */
  #charged = 0

  constructor(
    private readonly run: Pick<WritingRun, 'clock' | 'source'>,
    private readonly hands: CursorHands,
    private readonly settings: RingSettings,
    private readonly memory: RingMemory,
  ) {}

  /** A ring starts; it ends when the result is disposed of. */
  begun(source: Source): Disposable {
    this.#underWay.add(source)
    this.#charge()
    return {
      [Symbol.dispose]: () => {
        this.#charge()
        this.#underWay.delete(source)
        this.#endedRequests += requestsOf(source)
      },
    }
  }

  /** Whether rings have requests left. */
  get mayAsk(): boolean {
    if (this.settings.targetOf) return this.restsUntil === undefined
    const { window } = this.run.source.stats()
    if (!window || !this.hands.isBusy(this.#underWay.size)) return true
    this.#charge()
    return this.#windowOf(window.resetsAt).requests < window.limit * this.settings.requestShare
  }

  /** How many more requests a ring under way may send for now. */
  room(): number {
    if (!this.mayAsk) return 0
    const { window } = this.run.source.stats()
    return window && window.resetsAt > this.#now ? window.remaining : Number.POSITIVE_INFINITY
  }

  /** With targets: when the next ring may start, in ms since the epoch; undefined if it may now. */
  get restsUntil(): number | undefined {
    const { window } = this.run.source.stats()
    if (!this.settings.targetOf || !window) return undefined
    this.#charge()
    const next = this.memory.pace.nextAt(window, this.settings.requestShare, this.#now)
    return next > this.#now ? next : undefined
  }

  get #now(): number {
    return Number(this.run.clock.nowMicros() / 1000n)
  }

  #charge(): void {
    const all = [...this.#underWay].reduce((sum, source) => sum + requestsOf(source), this.#endedRequests)
    const more = all - this.#charged
    this.#windowOf(this.run.source.stats().window?.resetsAt ?? 0).requests += more
    this.memory.pace.spent(more)
    this.#charged = all
  }

  /** Responses give the end of a window to the second, so it varies a little. */
  #windowOf(resetsAt: number): RingMemory['window'] {
    if (resetsAt > this.memory.window.resetsAt + 5000) this.memory.window = { resetsAt, requests: 0 }
    return this.memory.window
  }
}

/** A ring that has just started will send at least one. */
const requestsOf = (source: Source): number => Math.max(1, source.stats().requests)

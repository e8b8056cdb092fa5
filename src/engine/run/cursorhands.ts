/*
 * Which cursors of a run are in progress. Only one piece of work at a time may hold a cursor, whether it is due by the
 * run's plan or by work alongside the plan (`BesideWork` in runcontext.ts).
 */
import { type Cursor, type CursorKey, cursorName } from '../warehouse/state/cursors.js'

export class CursorHands {
  /** Cursors in progress, and what resolves when they are released. */
  readonly #held = new Map<string, Promise<void>>()
  /** Cursors of the plan whose work hasn't started. */
  readonly #planned = new Set<string>()
  readonly #urgent = new Set<string>()
  /** When each cursor was last released, as a number of releases. */
  readonly #releasedAt = new Map<string, number>()
  #releases = 0

  #cursors: Map<string, Cursor>

  /** `cursors`: their states, as the run reads them. */
  constructor(cursors: Map<string, Cursor>) {
    this.#cursors = cursors
  }

  /** The run has read the states of all cursors again. */
  readAnew(cursors: Map<string, Cursor>): void {
    this.#cursors = cursors
  }

  /** Takes the cursor unless it is already held. */
  tryHold(key: CursorKey): Disposable | undefined {
    const name = cursorName(key)
    if (this.#held.has(name)) return undefined
    let giveBack = (): void => {}
    this.#held.set(name, new Promise((resolve) => (giveBack = resolve)))
    return {
      [Symbol.dispose]: () => {
        this.#held.delete(name)
        this.#releasedAt.set(name, ++this.#releases)
        giveBack()
      },
    }
  }

  /** How often cursors were released by now: for `wasReleased`. */
  get releases(): number {
    return this.#releases
  }

  /**
   * Whether the cursor was released since then. What was read about it in between may be from before its work, and make
   * it look as if nobody had done that.
   */
  wasReleased(key: CursorKey, since: number): boolean {
    return (this.#releasedAt.get(cursorName(key)) ?? 0) > since
  }

  /** Takes the cursor as soon as it is free. */
  async hold(key: CursorKey): Promise<Disposable> {
    for (;;) {
      const hold = this.tryHold(key)
      if (hold) return hold
      await this.#held.get(cursorName(key))
    }
  }

  /** The state of a cursor has changed: later work starts from there. */
  moved(key: CursorKey, state: Cursor): void {
    this.#cursors.set(cursorName(key), state)
  }

  /** Whether the plan will still get to the cursor. */
  isPlanned(key: CursorKey): boolean {
    return this.#planned.has(cursorName(key))
  }

  /**
   * Whether the plan still has cursors to do or is working on one. `beside`: how many held cursors the plan doesn't
   * know about.
   */
  isBusy(beside: number): boolean {
    return this.#planned.size > 0 || this.#held.size > beside
  }

  /** Moves a cursor to the front of the plan. */
  hurry(key: CursorKey): void {
    this.#urgent.add(cursorName(key))
  }

  /** The tasks of a plan in order, urgent ones first. */
  *inTurn<T>(tasks: readonly T[], keyOf: (task: T) => CursorKey): Generator<T> {
    const left = new Map(tasks.map((task) => [cursorName(keyOf(task)), task]))
    for (const name of left.keys()) this.#planned.add(name)
    // One iterator for all: a new one begins each time with all names that have been taken out.
    const inOrder = left.keys()
    while (left.size > 0) {
      const urgent = [...this.#urgent].find((name) => left.has(name))
      const name = urgent ?? inOrder.next().value ?? ''
      this.#urgent.delete(name)
      const task = left.get(name)
      left.delete(name)
      this.#planned.delete(name)
      if (task) yield task
    }
  }
}

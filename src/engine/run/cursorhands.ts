/*
 * Which cursors of a run are in hand. A cursor is worked on by one work at a time, whoever found it due: the run's plan,
 * or what comes beside it (`BesideWork` of runcontext.ts).
 */
import { type CursorKey, type CursorState, cursorName } from '../warehouse/cursors.js'

export class CursorHands {
  /** Cursors in hand, and what resolves when they are given back. */
  readonly #held = new Map<string, Promise<void>>()
  /** Cursors of the plan whose work has not begun. */
  readonly #planned = new Set<string>()
  readonly #urgent = new Set<string>()

  #cursors: Map<string, CursorState>

  /** `cursors`: their states, as the run reads them. */
  constructor(cursors: Map<string, CursorState>) {
    this.#cursors = cursors
  }

  /** The run has read the states of all cursors anew. */
  readAnew(cursors: Map<string, CursorState>): void {
    this.#cursors = cursors
  }

  /** The cursor, unless somebody has it in hand. */
  tryHold(key: CursorKey): Disposable | undefined {
    const name = cursorName(key)
    if (this.#held.has(name)) return undefined
    let giveBack = (): void => {}
    this.#held.set(name, new Promise((resolve) => (giveBack = resolve)))
    return {
      [Symbol.dispose]: () => {
        this.#held.delete(name)
        giveBack()
      },
    }
  }

  /** The cursor, as soon as nobody else has it. */
  async hold(key: CursorKey): Promise<Disposable> {
    for (;;) {
      const hold = this.tryHold(key)
      if (hold) return hold
      await this.#held.get(cursorName(key))
    }
  }

  /** The state of a cursor has changed: work that begins later begins there. */
  moved(key: CursorKey, state: CursorState): void {
    this.#cursors.set(cursorName(key), state)
  }

  /** Whether the plan comes to the cursor later. */
  isPlanned(key: CursorKey): boolean {
    return this.#planned.has(cursorName(key))
  }

  /** Whether the plan comes to any cursor later, or has one in hand. `beside`: so many are in hand that it knows nothing of. */
  isBusy(beside: number): boolean {
    return this.#planned.size > 0 || this.#held.size > beside
  }

  /** Lets the plan come to a cursor before all others. */
  hurry(key: CursorKey): void {
    this.#urgent.add(cursorName(key))
  }

  /** The tasks of a plan in their order, those before all others that have become urgent. */
  *inTurn<T>(tasks: readonly T[], keyOf: (task: T) => CursorKey): Generator<T> {
    const left = new Map(tasks.map((task) => [cursorName(keyOf(task)), task]))
    for (const name of left.keys()) this.#planned.add(name)
    while (left.size > 0) {
      const [first = ''] = left.keys()
      const name = [...this.#urgent].find((urgent) => left.has(urgent)) ?? first
      this.#urgent.delete(name)
      const task = left.get(name)
      left.delete(name)
      this.#planned.delete(name)
      if (task) yield task
    }
  }
}

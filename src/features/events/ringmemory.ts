/* What rings may do, and what a process remembers about them. */
import { type CursorKey, cursorName } from '../../engine/warehouse/cursors.js'
import { RingPace } from './ringpace.js'

/** What this process remembers about rings from one check, turn and run to the next. */
export class RingMemory {
  /** When each cursor's last ring started, in ms since the epoch. */
  readonly #beganAt = new Map<string, number>()
  /** Cursors whose last ring failed, and until when no event makes them due. */
  readonly #failedUntil = new Map<string, number>()
  /** The rate window, identified by its end, and the requests that rings have sent in it. */
  window = { resetsAt: 0, requests: 0 }
  /** With targets. */
  readonly pace = new RingPace()

  began(key: CursorKey, at: number): void {
    this.#beganAt.set(cursorName(key), at)
  }

  failed(key: CursorKey, until: number): void {
    this.#failedUntil.set(cursorName(key), until)
  }

  worked(key: CursorKey): void {
    this.#failedUntil.delete(cursorName(key))
  }

  /** When the cursor may next be rung, in ms since the epoch. */
  restsUntil(key: CursorKey, settle: number): number {
    const name = cursorName(key)
    return Math.max((this.#beganAt.get(name) ?? 0) + settle, this.#failedUntil.get(name) ?? 0)
  }
}

export interface RingSettings {
  /** The least number of milliseconds between the starts of two rings of the same cursor. */
  readonly settle: number
  /** The share of each rate window that rings may use while planned work waits. */
  readonly requestShare: number
  /**
   * With targets: in how many milliseconds a change to this resource must be in the warehouse. Rings then keep to that
   * share all the time, spread it over the window (ringpace.ts), and start with what waits for longest, in targets.
   */
  readonly targetOf?: ((resource: string) => number) | undefined
}

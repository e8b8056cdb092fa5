/* What rings may do, and what a process remembers about them. */
import type { Int64 } from '../../../schema/resource.js'
import { type CursorKey, cursorName } from '../../engine/warehouse/state/cursors.js'

/** For how many milliseconds rings that were not used can be caught up on. */
const longestCatchUp = 300_000

/**
 * How fast rings follow each other with targets. Rings that spent a short window at once would leave nothing to the
 * lists without events, and to read a list at its first event leaves out those that follow. So rings take their share
 * of what is left of the window bit by bit, until it ends. Where the window is large, a bit is enough for all of them.
 * docs/scale.md has the measurements.
 */
class RingPace {
  /** Requests that rings may send now. A ring of many pages makes it negative. */
  #allowed = 1
  #since: number | undefined

  /** Rings have sent requests. */
  spent(requests: number): void {
    this.#allowed -= requests
  }

  /**
   * When a ring may start, in ms since the epoch; `now` if it may at once. The window is as the source last described
   * it. `share`: of the window, for rings, 0 to 1.
   */
  nextAt(
    { remaining, resetsAt }: { readonly remaining: number; readonly resetsAt: number },
    share: number,
    now: number,
  ): number {
    // Nothing is known of the next window until a response describes it: one ring gets that response.
    if (resetsAt <= now) this.#allowed = Math.max(1, this.#allowed)
    const since = this.#since ?? now
    this.#since = now
    const forRings = share * remaining
    const perMs = forRings / Math.max(1, resetsAt - now)
    const most = Math.max(1, Math.min(forRings, perMs * longestCatchUp))
    this.#allowed = Math.min(most, this.#allowed + perMs * Math.max(0, now - since))
    if (this.#allowed >= 1) return now
    return perMs === 0 ? resetsAt : Math.min(resetsAt, now + (1 - this.#allowed) / perMs)
  }
}

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
   * With targets: in how many milliseconds a change to this list must be in the warehouse. Rings then keep to that
   * share all the time, spread it over the window (RingPace), and start with what waits for longest, in targets.
   */
  readonly targetOf?: ((resource: string, tenantId: Int64) => number) | undefined
}

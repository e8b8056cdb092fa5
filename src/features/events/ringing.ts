/*
 * Rings: works on the cursors that events have made due. The holder of the lease does this: a run alongside its planned
 * work (beside.ts), or the listener in its turn (turn.ts).
 */
import { describeError, Retry, Skip, Stop } from '../../engine/base/errors.js'
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { type Begin, workOnCursor } from '../../engine/run/cursor.js'
import type { CursorHands } from '../../engine/run/cursorhands.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import { RunStats } from '../../engine/run/runstats.js'
import { type CursorTask, keyOf, TenantRuns } from '../../engine/run/tenant.js'
import { type CursorKey, type CursorState, cursorName, readCursor } from '../../engine/warehouse/cursors.js'
import { withSharedLook } from '../reconcile/askshared.js'
import { walkOf } from '../reconcile/work.js'
import type { Inbox } from './inbox.js'
import { RingPace } from './ringpace.js'
import { eventsRunId, recordRing } from './ringrecord.js'
import { isSynced, readUnavailable, type SyncedCursors } from './synced.js'
import { type DueCursor, dueCursors, ignoreEvents, waitAgain, waitingOf } from './waiting.js'

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

/** How many rings run at once. */
const mostRings = 8

/**
 * Milliseconds until a cursor whose walk failed is rung again. After the last one, its events are left to the next run.
 */
const failurePausesMs = [10_000, 60_000, 300_000] as const
/** For how many milliseconds new events don't ring a cursor that has failed more often than that. */
const longestRestMs = 300_000

/** Why an event waits after its cursor's walk failed. */
const walkFailed = 'walk_failed'

const beginRing: Begin = (cursor) => withSharedLook(cursor, walkOf(cursor, 'quick'), { onlyTouched: true })

export class Ringing implements AsyncDisposable {
  readonly #underWay = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  /** What ended the ringing: the warehouse is down, or the lease is lost. */
  #failure: unknown
  readonly #run: WritingRun

  constructor(
    run: WritingRun,
    private readonly hands: CursorHands,
    private readonly inbox: Inbox,
    private readonly synced: SyncedCursors,
    private readonly settings: RingSettings,
    private readonly memory: RingMemory,
  ) {
    const { hands: _, beside: __, ...own } = run
    this.#run = { ...own, signal: AbortSignal.any([run.signal, this.#ended.signal]) }
  }

  /** How many rings are running. */
  get underWay(): number {
    return this.#underWay.size
  }

  /** Whatever ended the ringing as a whole. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /**
   * Starts rings of what is due. In a plain sync, a cursor that the plan comes to is only moved forward. Returns how
   * many due cursors can't be rung yet, and in how many ms the first of them can be.
   */
  async look(mode: 'sync' | 'other' = 'other'): Promise<{ readonly waiting: number; readonly inMs: number }> {
    if (this.#failure !== undefined || this.#run.signal.aborted) return { waiting: 0, inMs: 0 }
    const now = Number(this.#run.clock.nowMicros() / 1000n)
    let waiting = 0
    let inMs = Number.POSITIVE_INFINITY
    const all = await dueCursors(this.inbox, fromMicros(this.#run.clock.nowMicros()))
    for (const due of this.#bestFirst(all, now)) {
      const task = await this.#taskOf(due)
      if (!task) continue
      const rests = this.memory.restsUntil(due, this.settings.settle) - now
      if (rests > 0) {
        waiting += 1
        inMs = Math.min(inMs, rests)
      } else if (mode === 'sync' && this.hands.isPlanned(due)) this.hands.hurry(due)
      else if (this.#isRoom) this.#begin(task)
      else waiting += 1
    }
    return { waiting, inMs }
  }

  /** As due rounds rank lists by their events: by the ages of what was announced, counted in targets. */
  #bestFirst(due: readonly DueCursor[], now: number): readonly DueCursor[] {
    const { targetOf } = this.settings
    if (!targetOf) return due
    const worth = ({ resource, since, announced }: DueCursor): number =>
      (announced * Math.max(1, now - toMillis(since))) / targetOf(resource)
    return due.toSorted((a, b) => worth(b) - worth(a))
  }

  /**
   * A due cursor that may be rung. Events of a cursor that isn't synced are settled; a cursor that was never loaded
   * waits.
   */
  async #taskOf(due: DueCursor): Promise<CursorTask | undefined> {
    let found = isSynced(this.synced, due)
    // What the source offers was read when the run began: the list may have answered since.
    if (found.reason === 'unavailable')
      found = isSynced({ ...this.synced, unavailable: await readUnavailable(this.#run.warehouse) }, due)
    if (found.resource) return { tenantId: due.tenantId, resource: found.resource }
    if (found.reason) {
      const at = fromMicros(this.#run.clock.nowMicros())
      await ignoreEvents(this.inbox, due, { reason: found.reason, at })
    }
    return undefined
  }

  /** Whether another ring may start now: rings leave most of a rate window to planned work that waits. */
  get #isRoom(): boolean {
    if (this.#underWay.size >= mostRings) return false
    const { window } = this.#run.source.stats()
    if (this.settings.targetOf) return this.restsUntil === undefined
    if (!window || !this.hands.isBusy(this.#underWay.size)) return true
    // A running ring is only counted at its end. It takes at least one request.
    const { requests } = this.#windowOf(window.resetsAt)
    return requests + this.#underWay.size < window.limit * this.settings.requestShare
  }

  /** With targets: when the next ring may start, in ms since the epoch; undefined if it may now. */
  get restsUntil(): number | undefined {
    const { window } = this.#run.source.stats()
    if (!this.settings.targetOf || !window) return undefined
    const now = Number(this.#run.clock.nowMicros() / 1000n)
    const next = this.memory.pace.nextAt(window, this.settings.requestShare, now)
    return next > now ? next : undefined
  }

  /** Responses give the end of a window to the second, so it varies a little. */
  #windowOf(resetsAt: number): RingMemory['window'] {
    if (resetsAt > this.memory.window.resetsAt + 5000) this.memory.window = { resetsAt, requests: 0 }
    return this.memory.window
  }

  #begin(task: CursorTask): void {
    const hold = this.hands.tryHold(keyOf(task))
    if (!hold) return
    this.memory.began(keyOf(task), Number(this.#run.clock.nowMicros() / 1000n))
    this.memory.pace.spent(1)
    const ring = this.#ring(task)
      .catch((error: unknown) => {
        if (!this.#run.signal.aborted) this.#failure ??= error
      })
      .finally(() => {
        hold[Symbol.dispose]()
        this.#underWay.delete(ring)
      })
    this.#underWay.add(ring)
  }

  async #ring(task: CursorTask): Promise<void> {
    const key = keyOf(task)
    const { warehouse, clock, source } = this.#run
    const state = await readCursor(warehouse, key)
    if (!state || !isLoaded(state)) return this.#leaveToRun(task)
    const runId = eventsRunId(clock.nowMicros())
    let hasMoved = false
    const run: WritingRun = {
      ...this.#run,
      beforeWalk: async (cursor) => {
        const after = await this.#run.beforeWalk?.(cursor)
        return async (floor) => {
          hasMoved = true
          await after?.(floor)
        }
      },
      runId,
      warehouse: warehouse.as(runId),
      cursors: new Map([[cursorName(key), state]]),
      stats: new RunStats(),
    }
    const end = await workOnCursor(new TenantRuns(run).of(task.tenantId), task.resource, beginRing)
    this.#windowOf(source.stats().window?.resetsAt ?? 0).requests += end.report.requests
    this.memory.pace.spent(Math.max(0, end.report.requests - 1))
    if (end.interrupted) return
    await recordRing(run, runId, end)
    const moved = await readCursor(warehouse, key)
    if (moved) this.hands.moved(key, moved)
    // A walk that reached its end has settled what it saw, whatever else is reported about the list.
    if (hasMoved || end.report.status === 'ok') this.memory.worked(key)
    else await this.#failed(task)
  }

  /** A ring does no first load: the walk that does it settles what waits. */
  async #leaveToRun(task: CursorTask): Promise<void> {
    const rows = await waitingOf(this.inbox, keyOf(task))
    await waitAgain(this.inbox, rows, { reason: 'not_loaded', tries: 1, dueAt: null })
  }

  /** The walk failed. Its events wait longer each time, and finally for the next run. */
  async #failed(task: CursorTask): Promise<void> {
    const { clock, observer } = this.#run
    const rows = await waitingOf(this.inbox, keyOf(task))
    const tries = Math.max(
      0,
      ...rows.map(({ reason, tries: its }) => (reason === walkFailed ? Number(its) : 0)),
    )
    const pause = failurePausesMs[tries]
    const now = clock.nowMicros()
    this.memory.failed(keyOf(task), Number(now / 1000n) + (pause ?? longestRestMs))
    const dueAt = pause === undefined ? null : fromMicros(now + BigInt(pause) * 1000n)
    await waitAgain(this.inbox, rows, { reason: walkFailed, tries: tries + 1, dueAt })
    if (dueAt === null)
      observer.warning?.('A cursor failed each time an event made it due; it is left for the next run', {
        tenant_id: task.tenantId,
        resource: task.resource.name,
      })
  }

  /** Ends the running rings. They keep no progress; the next process that rings starts over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new Stop('The listener is shutting down', { exitCode: 1 }))
    await Promise.all(this.#underWay)
  }

  /** Resolves when a ring has ended, or none is running. */
  async next(): Promise<void> {
    await Promise.race(this.#underWay)
  }

  /** Lets the running rings finish. */
  async drain(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}

const isLoaded = ({ watermark, lastSuccessAt }: CursorState): boolean =>
  watermark !== null || lastSuccessAt !== null

/** Whether an error comes from the source or the warehouse and isn't a bug. */
export const isExpected = (error: unknown): error is Error =>
  error instanceof Stop || error instanceof Skip || error instanceof Retry

export const textOf = (error: unknown): string => describeError(error)

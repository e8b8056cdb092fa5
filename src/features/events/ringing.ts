/*
 * Rings: works on the cursors that events have made due. The holder of the lease does this: a run alongside its planned
 * work (beside.ts), or the listener in its turn (turn.ts).
 */
import { Stop } from '../../engine/base/errors.js'
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { withSharedLook } from '../../engine/run/askshared.js'
import { type Begin, workOnCursor } from '../../engine/run/cursor.js'
import type { CursorHands } from '../../engine/run/cursorhands.js'
import { walkOf } from '../../engine/run/listwalk.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import { RunStats } from '../../engine/run/runstats.js'
import { type CursorTask, keyOf, TenantRuns } from '../../engine/run/tenant.js'
import type { Source } from '../../engine/source/source.js'
import { type Cursor, cursorColumns, cursorName, readCursor } from '../../engine/warehouse/state/cursors.js'
import { cutShort, type DueCursor, dueCursors, ignoreEvents, waitAgain, waitingOf } from './events.js'
import type { Inbox } from './inbox.js'
import type { RingMemory, RingSettings } from './ringmemory.js'
import { recordRing } from './ringrecord.js'
import { RingShare } from './ringshare.js'
import { beforeWalk } from './settling.js'
import { isSynced, readUnavailable, type SyncedCursors } from './synced.js'

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

/**
 * How often a walk may be cut short, one time after the other. It begins again each time, so a list that takes more than
 * a rate window would use up each of them for nothing. A planned run keeps its progress.
 */
const mostCuts = 2

const beginRing: Begin = (cursor) => withSharedLook(cursor, walkOf(cursor, 'quick'), { onlyTouched: true })

export class Ringing implements AsyncDisposable {
  readonly #underWay = new Set<Promise<void>>()
  readonly #share: RingShare
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
    this.#share = new RingShare(run, hands, settings, memory)
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
    const before = this.hands.releases
    const all = await dueCursors(this.inbox, fromMicros(this.#run.clock.nowMicros()), this.#run.shard)
    for (const due of this.#bestFirst(all, now)) {
      const task = await this.#taskOf(due)
      if (!task) continue
      const rests = this.memory.restsUntil(due, this.settings.settle) - now
      if (rests > 0) {
        waiting += 1
        inMs = Math.min(inMs, rests)
      } else if (this.hands.wasReleased(due, before)) {
        // Its events may be settled by now: the next look shows it, without a request.
        waiting += 1
        inMs = 0
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
    const worth = ({ resource, tenantId, since, announced }: DueCursor): number =>
      (announced * Math.max(1, now - toMillis(since))) / targetOf(resource, tenantId)
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
    return this.#underWay.size < mostRings && this.#share.mayAsk
  }

  /** With targets: when the next ring may start, in ms since the epoch; undefined if it may now. */
  get restsUntil(): number | undefined {
    return this.#share.restsUntil
  }

  #begin(task: CursorTask): void {
    const hold = this.hands.tryHold(keyOf(task))
    if (!hold) return
    this.memory.began(keyOf(task), Number(this.#run.clock.nowMicros() / 1000n))
    const source = this.#run.source.tagged()
    const share = this.#share.begun(source)
    const ring = this.#ring(task, source)
      .catch((error: unknown) => this.#troubled(task, error))
      .catch((error: unknown) => {
        if (!this.#run.signal.aborted) this.#failure ??= error
      })
      .finally(() => {
        hold[Symbol.dispose]()
        share[Symbol.dispose]()
        this.#underWay.delete(ring)
      })
    this.#underWay.add(ring)
  }

  /** A problem of one cursor is no other's: only what ends every run, such as a lost lease, ends the ringing. */
  async #troubled(task: CursorTask, error: unknown): Promise<void> {
    if (error instanceof Stop || this.#run.signal.aborted) throw error
    const what = 'A cursor that events made due failed for an unknown reason'
    this.#run.observer.survived?.(error, what, cursorColumns(keyOf(task)))
    await this.#failed(task)
  }

  async #ring(task: CursorTask, source: Source): Promise<void> {
    const key = keyOf(task)
    const { warehouse, clock } = this.#run
    const state = await readCursor(warehouse, key)
    if (!state || !isLoaded(state)) return this.#leaveToRun(task)
    const runId = eventsRunId(clock.nowMicros())
    let hasMoved = false
    let isUnsettled = false
    const failed = (): void => {
      isUnsettled = true
    }
    const limits = { room: () => this.#share.room(), failed }
    const run: WritingRun = {
      ...this.#run,
      beforeWalk: async (cursor) => {
        const after = await beforeWalk(this.inbox, cursor, limits)
        return async (floor) => {
          hasMoved = true
          await after?.(floor)
        }
      },
      runId,
      source,
      warehouse: warehouse.as(runId),
      cursors: new Map([[cursorName(key), state]]),
      stats: new RunStats(),
    }
    const end = await workOnCursor(new TenantRuns(run).of(task.tenantId), task.resource, beginRing)
    if (end.interrupted) {
      // One page may just have come too late: beginning again costs as little.
      if (!hasMoved && end.report.requests > 1) await this.#cutShort(task)
      return
    }
    await recordRing(run, runId, end)
    const moved = await readCursor(warehouse, key)
    if (moved) this.hands.moved(key, moved)
    // A walk that reached its end has settled what it saw, whatever else is reported about the list.
    if (isUnsettled) this.#rest(task, failurePausesMs[0])
    else if (hasMoved || end.report.status === 'ok') this.memory.worked(key)
    else await this.#failed(task)
  }

  /** No event makes the cursor due for this many milliseconds. */
  #rest(task: CursorTask, milliseconds: number): void {
    this.memory.failed(keyOf(task), Number(this.#run.clock.nowMicros() / 1000n) + milliseconds)
  }

  /** The walk was ended, as by the end of the rate window. A second time in a row, the next run does it. */
  async #cutShort(task: CursorTask): Promise<void> {
    const { rows, tries } = await this.#triedFor(task, cutShort)
    const dueAt = tries + 1 < mostCuts ? fromMicros(this.#run.clock.nowMicros()) : null
    // Those that wait for their second look keep their pauses.
    const fresh = rows.filter(({ reason }) => reason === null || reason === cutShort)
    const cut = fresh.length > 0 ? fresh : rows
    await waitAgain(this.inbox, cut, { reason: cutShort, tries: tries + 1, dueAt })
    if (dueAt === null) this.#tellLeft(task, 'A cursor was cut short each time an event made it due')
  }

  /** The cursor's waiting events, and how often they have waited for that reason. */
  async #triedFor(task: CursorTask, why: string) {
    const rows = await waitingOf(this.inbox, keyOf(task))
    const tries = rows.map(({ reason, tries: its }) => (reason === why ? Number(its) : 0))
    return { rows, tries: tries.reduce((most, its) => Math.max(most, its), 0) }
  }

  #tellLeft(task: CursorTask, what: string): void {
    this.#run.observer.warning?.(`${what}; it is left for the next run`, cursorColumns(keyOf(task)))
  }

  /** A ring does no first load: the walk that does it settles what waits. */
  async #leaveToRun(task: CursorTask): Promise<void> {
    const rows = await waitingOf(this.inbox, keyOf(task))
    await waitAgain(this.inbox, rows, { reason: 'not_loaded', tries: 1, dueAt: null })
  }

  /** The walk failed. Its events wait longer each time, and finally for the next run. */
  async #failed(task: CursorTask): Promise<void> {
    const { rows, tries } = await this.#triedFor(task, walkFailed)
    const pause = failurePausesMs[tries]
    const now = this.#run.clock.nowMicros()
    this.#rest(task, pause ?? longestRestMs)
    const dueAt = pause === undefined ? null : fromMicros(now + BigInt(pause) * 1000n)
    await waitAgain(this.inbox, rows, { reason: walkFailed, tries: tries + 1, dueAt })
    if (dueAt === null) this.#tellLeft(task, 'A cursor failed each time an event made it due')
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

const isLoaded = ({ watermark, last_success_at }: Cursor): boolean =>
  watermark !== null || last_success_at !== null

/** `events-` and the hour in UTC, such as `events-2026-01-31T09`. */
const eventsRunId = (nowMicros: bigint): string => `events-${fromMicros(nowMicros).slice(0, 13)}`

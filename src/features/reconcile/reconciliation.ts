/*
 * The reconciliation of one cursor: an incremental walk, then a comparison with the source that repairs differences.
 * Used by `reconcile` and jobs.
 */
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import { byIdOf } from '../../engine/run/byid.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import { CursorWalk } from '../../engine/run/cursorwalk.js'
import {
  addCounts,
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
} from '../../engine/run/cursorwork.js'
import { overlapOf } from '../../engine/run/lateness.js'
import type { Note, Reconciled } from '../../engine/run/runreport.js'
import { type Fetched, PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { epoch, forever } from '../../engine/walk/cutpoint.js'
import { type Memory, storedMemory } from '../../engine/walk/memory.js'
import type { WalkOutcome } from '../../engine/walk/types.js'
import { type Evidence, judged, movesWatermark } from '../../engine/walk/verdict.js'
import { supersedes } from '../../engine/warehouse/apply.js'
import { moveCursor, newCursor } from '../../engine/warehouse/cursors.js'
import type { LeasedWarehouse } from '../../engine/warehouse/leasedwarehouse.js'
import {
  beforeAllText,
  type ComparedCursor,
  Comparing,
  type Repair,
  unclearOf,
  unsureText,
} from './comparing.js'
import { Confirmation } from './confirm.js'
import { DeletionGuard } from './deletionguard.js'
import { recoverLostRows } from './dryrun.js'
import { Latecomers } from './latecomers.js'
import { LiveRows } from './liverows.js'
import { RegisterCheck, trimRequests } from './registercheck.js'
import { answersApart, OlderRows } from './sourceregression.js'
import { type GoneRow, markDeleted } from './tombstone.js'

export interface ReconcileOptions {
  /** List every record, whatever the counts are. */
  readonly full: boolean
  /** Mark rows as deleted, however many are gone. */
  readonly acceptDeletes: boolean
  /** Otherwise, the share of a cursor's rows that may be marked deleted at once. */
  readonly maxDeletes: number
}

/** How many rows are requested first when there are many: they show whether a landslide is real. */
const sampleSize = 20

/** One cursor's reconciliation. It repairs differences by writing. */
export class Reconciliation implements CursorWork, Repair {
  readonly #list: CursorList
  readonly #store: PageStore
  readonly #comparing: Comparing
  readonly #confirmation: Confirmation
  readonly #liveRows: LiveRows
  readonly #check: RegisterCheck
  readonly #note: Note
  readonly #warn: Note
  readonly #latecomers: Latecomers
  #walk: CursorWalk
  /** The counts of the walks before the current one. */
  #walked = noCounts
  #guard: DeletionGuard | undefined
  /** Records that were missing from the warehouse or older there. */
  #stored = 0
  #deleted = 0
  /** Rows that went back with the source. */
  #regressed = 0
  /** Records that the source shows in an older version than the row's. */
  readonly #older: OlderRows
  /** Records that the source counts but that can't be stored. */
  #unstorable = 0

  constructor(
    private readonly cursor: CursorRun<LeasedWarehouse>,
    private readonly options: ReconcileOptions,
  ) {
    const { run, warehouse, resource } = cursor
    this.#note = cursor.note
    this.#warn = cursor.warn
    this.#liveRows = new LiveRows(warehouse, cursor)
    this.#check = new RegisterCheck(cursor, warehouse)
    this.#list = flatList(cursor, 'reconcile')
    this.#store = new PageStore(cursor, 'reconcile')
    this.#comparing = new Comparing(run, {
      overlapMs: overlapOf(run.config.sync.overlap, run.lateness, resource.name),
      list: this.#list,
      rows: this.#liveRows,
      repair: this,
      memory: () => this.#walk.memory,
      note: this.#note,
    })
    const hasHoles = (): boolean => this.#walk.memory.holes !== undefined
    this.#confirmation = new Confirmation(this.#list, byIdOf(cursor, this.#list), {
      note: this.#note,
      hasHoles,
    })
    this.#older = new OlderRows({
      confirmation: this.#confirmation,
      versions: (ids) => this.#liveRows.versions(ids),
      pause: () => run.clock.sleep(run.answersApartMs ?? answersApart, run.signal),
      mostTwice: () => this.#walk.memory.twice ?? 0,
    })
    this.#latecomers = new Latecomers(cursor)
    this.#walk = new CursorWalk(cursor, 'sync')
  }

  get progress(): CursorProgress {
    const { written, changed, removed } = this.#store.counts
    const own = {
      records: this.#list.records,
      unstorable: this.#unstorable,
      changed,
      written,
      removed: removed + this.#deleted,
    }
    const { watermark, ...walk } = this.#walk.progress
    return { ...addCounts(own, addCounts(this.#walked, walk)), watermark }
  }

  async run(): Promise<CursorResult> {
    const { outcome } = await this.#walk.run()
    if (!outcome || !movesWatermark(outcome)) return { ...this.progress, outcome }
    this.#older.met(this.#walk.older)
    this.#latecomers.measureFrom((await this.#hasLostRows()) ? null : this.#walk.walkedAt)
    const found = await this.#comparing.run(this.options.full)
    const { isEven, evidence: _, memory, anomalies, beforeAll, ...rest } = found
    const differing = this.#older.differing + unclearOf(found, this.#confirmation.unclear).size
    const isSure = isEven && differing === 0
    await this.#latecomers.keep(isSure)
    if (isSure) await this.#check.close(this.options.full ? 'listing' : found.method)
    await trimRequests(this.cursor.warehouse, this.cursor, found.warehouse)
    this.#unstorable = anomalies.unstorable
    const reconciled: Reconciled = {
      ...rest,
      stored: this.#stored,
      deleted: this.#deleted,
      went_back: this.#regressed,
      listed_twice: anomalies.repeated,
      not_shown: anomalies.hidden,
    }
    const told = judged(
      this.#evidence(found, differing, this.#walk.evidence ?? outcome.evidence),
      outcome,
      memory,
    )
    await this.#remember(told, memory)
    const problem = isSure
      ? beforeAllText(beforeAll)
      : unsureText(found, this.#older.differing, this.#confirmation.unclear)
    return { ...this.progress, outcome: told, reconciled, ...(problem !== undefined && { problem }) }
  }

  /** If the two sides still differ, nothing else shows by how much. */
  #evidence({ isEven, evidence }: ComparedCursor, differing: number, walked: Evidence): Evidence {
    if (!isEven || differing > 0) return { basis: { by: 'counts', isEven: false }, differing }
    const looks = [walked, { ...evidence, followedBack: this.#regressed }]
    return { basis: { by: 'looks', looks } }
  }

  /** The comparison knows more about the list than the walk before it. */
  async #remember({ verdict, reason }: WalkOutcome, memory: Memory): Promise<void> {
    const { key, warehouse } = this.cursor
    if (memory === this.#walk.memory && verdict !== 'unproven' && reason === null) return
    const isDone = verdict !== 'unproven'
    const change = {
      completeness: verdict,
      reason,
      remembered: storedMemory(memory),
      ...(isDone && { status: 'ok', last_error: null, last_success_at: this.cursor.now() }),
    }
    await warehouse.write([moveCursor(warehouse.db, key, change)])
  }

  recoverLostRows(): Promise<readonly Move[] | undefined> {
    return recoverLostRows({
      check: this.#check,
      liveRows: this.#liveRows,
      confirmation: this.#confirmation,
      repair: { settle: (rows) => this.settle(rows), store: (page) => this.#keep(page, false) },
      warn: this.#warn,
    })
  }

  async #hasLostRows(): Promise<boolean> {
    return (await this.#check.live()) !== (await this.#liveRows.count(epoch, forever))
  }

  /** The source has moved: another walk, from the previous walk's watermark. */
  async refresh(): Promise<void> {
    const plannedWatermark = this.#walk.planned
    const { watermark, ...before } = this.#walk.progress
    // Records that can't be stored aren't counted again: the comparison counts all of them.
    this.#walked = addCounts(this.#walked, { ...before, unstorable: 0 })
    const state = {
      ...(this.cursor.state ?? newCursor),
      watermark,
      plannedWatermark,
      walk: null,
      refill: null,
      refillWalk: null,
      remembered: storedMemory(this.#walk.memory),
    }
    this.#walk = new CursorWalk(this.cursor.from(state), 'sync')
    await this.#walk.run()
    this.#older.met(this.#walk.older)
  }

  store(fetched: Fetched): Promise<Move[]> {
    return this.#keep(fetched, true)
  }

  /** `mayBeLate`: the warehouse knows no reason why the records were missing. */
  async #keep(fetched: Fetched, mayBeLate: boolean): Promise<Move[]> {
    const applied = await this.#store.storeFlat(fetched)
    if (mayBeLate) this.#latecomers.take(fetched, applied)
    const { previous } = applied
    const moves = fetched.flattened.records.flatMap(({ id, updatedAt }): Move[] => {
      const stored = previous.get(id)
      if (stored && !supersedes(updatedAt, fetched.startedAt, stored)) {
        if (updatedAt < stored.updatedAt) this.#older.met([id])
        return []
      }
      const before = stored && stored.deletedAt === null ? stored.updatedAt : null
      return before === updatedAt ? [] : [{ before, after: updatedAt }]
    })
    this.#stored += moves.length
    return moves
  }

  /**
   * Queries the source about rows that the list doesn't show; stores records that moved, and marks rows whose record is
   * gone. Then requests records found in older versions than their rows, whether or not rows are missing.
   */
  async settle(candidates: readonly Candidate[]): Promise<Move[]> {
    const moves = candidates.length > 0 ? await this.#settleMissing(candidates) : []
    return [...moves, ...(await this.#settleOlder())]
  }

  /**
   * Requests records that the source shows in an older version than the row's; the source decides what happens to them.
   */
  async #settleOlder(): Promise<Move[]> {
    const answer = await this.#older.ask()
    if (!answer) return []
    const moves: Move[] = []
    for (const fetched of answer.newer) moves.push(...(await this.store(fetched)))
    for (const { fetched, stored, id } of answer.older) {
      await this.#store.storeFlat(fetched, { forceOlder: new Map([[id, stored.updatedAt]]) })
      const after = fetched.flattened.records[0]?.updatedAt ?? null
      moves.push({ before: stored.deletedAt === null ? stored.updatedAt : null, after })
    }
    this.#regressed += answer.older.length
    if (answer.older.length > 0)
      this.#warn(
        'The source went back to older versions: it confirmed them twice by id, and they are stored',
        {
          records: answer.older.length,
        },
      )
    return moves
  }

  async #settleMissing(candidates: readonly Candidate[]): Promise<Move[]> {
    const stored = await this.#liveRows.versions(candidates.map(({ id }) => id))
    const doubtful = candidates.filter(({ id, updatedAt }) => {
      const version = stored.get(id)
      return version?.deletedAt === null && version.updatedAt === updatedAt
    })
    const guard = await this.#limit()
    const gone: GoneRow[] = []
    const moves: Move[] = []
    // Avoids a hundred thousand useless requests: if a whole sample is gone, the rest isn't requested.
    const isSampled = !guard.isSmall && guard.trips(doubtful.length)
    const sample = isSampled ? doubtful.slice(0, sampleSize) : doubtful
    for (const part of isSampled ? [sample, doubtful.slice(sampleSize)] : [doubtful]) {
      const answer = await this.#confirmation.ask(part)
      for (const fetched of answer.moved) moves.push(...(await this.store(fetched)))
      gone.push(...answer.gone)
      if (isSampled && part === sample && gone.length === part.length) guard.refuse(doubtful.length)
    }
    if (!guard.isSmall || !this.#confirmation.isById) guard.pass(gone.length)
    const marked = await markDeleted(this.cursor.warehouse, this.cursor, gone)
    this.#deleted += marked.length
    return [...moves, ...marked.map(({ updatedAt }): Move => ({ before: updatedAt, after: null }))]
  }

  async #limit(): Promise<DeletionGuard> {
    this.#guard ??= new DeletionGuard({
      live: await this.#liveRows.count(epoch, forever),
      share: this.options.maxDeletes,
      accepted: this.options.acceptDeletes,
    })
    return this.#guard
  }
}

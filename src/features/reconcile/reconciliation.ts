/*
 * The reconciliation of one cursor: an incremental walk, then a comparison with the source that repairs differences.
 * Used by `reconcile` and jobs.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import { type Memory, storedMemory } from '../../engine/list/memory.js'
import type { WalkOutcome } from '../../engine/list/types.js'
import { type Evidence, judged, movesWatermark } from '../../engine/list/verdict.js'
import { byIdOf } from '../../engine/run/byid.js'
import { Confirmation, idsOf } from '../../engine/run/confirm.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import type { CursorWalk } from '../../engine/run/cursorwalk.js'
import {
  addCounts,
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
} from '../../engine/run/cursorwork.js'
import { overlapOf } from '../../engine/run/lateness.js'
import { cursorWalk } from '../../engine/run/listwalk.js'
import { LiveRows } from '../../engine/run/liverows.js'
import { RegisterCheck, trimRequests } from '../../engine/run/registercheck.js'
import type { Note, Reconciled } from '../../engine/run/runreport.js'
import { answersApart, followBack, OlderRows } from '../../engine/run/sourceregression.js'
import { PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { supersedes } from '../../engine/warehouse/apply.js'
import { moveCursor, newCursor } from '../../engine/warehouse/cursors.js'
import { isListedAfter, listedVersion } from '../../engine/warehouse/unlisted.js'
import type { Fetched } from '../../engine/warehouse/versionbatch.js'
import {
  beforeAllText,
  type ComparedCursor,
  Comparing,
  type Repair,
  type Unclear,
  unclearOf,
  unsureText,
} from './comparing.js'
import { Latecomers } from './latecomers.js'
import { type LeftStanding, leftReport, leftStanding, unconfirmedText } from './leftthelist.js'
import { recoverLostRows } from './lostrows.js'
import { type DeletionOptions, MissingRows } from './missingrows.js'

interface ReconcileOptions extends DeletionOptions {
  /** List every record, whatever the counts are. */
  readonly full: boolean
}

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
  /** Records that were missing from the warehouse or older there. */
  #stored = 0
  /** Rows that went back with the source. */
  #regressed = 0
  /** Records that the source shows in an older version than the row's. */
  readonly #older: OlderRows
  readonly #missing: MissingRows
  /** Records that the source counts but that can't be stored. */
  #unstorable = 0

  constructor(
    private readonly cursor: CursorRun,
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
    const pause = (): Promise<void> => run.clock.sleep(run.answersApartMs ?? answersApart, run.signal)
    const parts = { liveRows: this.#liveRows, confirmation: this.#confirmation, pause }
    this.#missing = new MissingRows(cursor, options, { ...parts, store: (fetched) => this.store(fetched) })
    this.#older = new OlderRows({
      confirmation: this.#confirmation,
      versions: (ids) => this.#liveRows.versions(ids),
      pause,
      mostTwice: () => this.#walk.memory.twice ?? 0,
    })
    this.#latecomers = new Latecomers(cursor)
    this.#walk = cursorWalk(cursor, 'sync')
  }

  get progress(): CursorProgress {
    const { written, changed, removed } = this.#store.counts
    const own = {
      records: this.#list.records,
      unstorable: 0,
      changed,
      written,
      removed: removed + this.#missing.deleted,
    }
    const { watermark, ...walk } = this.#walk.progress
    const counts = addCounts(own, addCounts(this.#walked, walk))
    // The comparison counts all of them, those that the walk met included.
    return { ...counts, unstorable: Math.max(walk.unstorable, this.#unstorable), watermark }
  }

  async run(): Promise<CursorResult> {
    await this.cursor.refuseHidden()
    const { outcome } = await this.#walk.run()
    if (!outcome || !movesWatermark(outcome)) return { ...this.progress, outcome }
    this.#older.met(this.#walk.store.older)
    this.#latecomers.measureFrom((await this.#hasLostRows()) ? null : this.#walk.store.walkedAt)
    const found = await this.#comparing.run(this.options.full)
    const left = await this.#settleLeft(found.memory)
    const { isEven, evidence: _, memory: ofList, anomalies, beforeAll, refused: __, ...rest } = found
    const { left: ___, ...others } = ofList
    const memory = left.memory ? { ...others, left: left.memory } : ofList.left ? others : ofList
    const unclear = new Map([...unclearOf(found, this.#confirmation.unclear), ...this.#missing.unclear])
    const differing = this.#older.differing + unclear.size
    const isSure = isEven && differing === 0
    await this.#latecomers.keep(isSure)
    if (isSure) await this.#check.close(this.options.full ? 'listing' : found.method)
    await trimRequests(this.cursor.warehouse, this.cursor, found.warehouse)
    this.#unstorable = anomalies.unstorable
    const reconciled: Reconciled = {
      ...rest,
      stored: this.#stored,
      deleted: this.#missing.deleted,
      went_back: this.#regressed,
      listed_twice: anomalies.repeated,
      not_shown: anomalies.hidden,
      ...leftReport(left.ids),
    }
    const walked = this.#walk.evidence ?? outcome.evidence
    const told = judged(this.#evidence(found, differing, walked, left), outcome, memory)
    await this.#remember(told, memory)
    const problem = isSure
      ? (beforeAllText(beforeAll) ?? unconfirmedText(left.unconfirmed))
      : unsureText(found, {
          ...{ differing: this.#older.differing, unclear },
          isById: this.#confirmation.isById,
        })
    return { ...this.progress, outcome: told, reconciled, ...(problem !== undefined && { problem }) }
  }

  /** If the two sides still differ, nothing else shows by how much. */
  #evidence(
    { isEven, evidence }: ComparedCursor,
    differing: number,
    walked: Evidence,
    left: LeftStanding,
  ): Evidence {
    if (!isEven || differing > 0) return { basis: { by: 'counts', isEven: false }, differing }
    const looks = [walked, { ...evidence, followedBack: this.#regressed }]
    return { basis: { by: 'looks', looks }, left: left.unconfirmed.length, leftBefore: left.ids.length }
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

  get unclear(): Unclear {
    return this.#confirmation.unclear
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
    return (await this.#check.live()) !== (await this.#liveRows.countLive())
  }

  /** The source has moved: another walk, from the previous walk's watermark. */
  async refresh(): Promise<void> {
    const plannedWatermark = this.#walk.store.planned
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
    this.#walk = cursorWalk(this.cursor.from(state), 'sync')
    await this.#walk.run()
    this.#older.met(this.#walk.store.older)
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
      const isKept = stored !== undefined && !supersedes(updatedAt, fetched.startedAt, stored)
      if (isKept && updatedAt < stored.updatedAt) this.#older.met([id])
      if (!isKept && (stored?.deletedAt !== null || stored.updatedAt !== updatedAt)) this.#stored++
      const after = isKept ? (stored.deletedAt === null ? stored.updatedAt : null) : updatedAt
      const move = { before: listedVersion(stored), after: isListedAfter(stored, fetched) ? after : null }
      return move.before === move.after ? [] : [move]
    })
    return moves
  }

  /**
   * Queries the source about rows that the list doesn't show; stores records that moved, and marks rows whose record is
   * gone. Then requests records found in older versions than their rows, whether or not rows are missing.
   */
  async settle(candidates: readonly Candidate[], counted = 0): Promise<Move[]> {
    const moves = candidates.length > 0 ? await this.#missing.settle(candidates, counted) : []
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
    let followed = 0
    for (const older of answer.older) {
      if (!(await followBack(this.#store, older))) continue
      const { fetched, stored } = older
      followed++
      const after = fetched.flattened.records[0]?.updatedAt ?? null
      moves.push({ before: listedVersion(stored), after: isListedAfter(stored, fetched) ? after : null })
    }
    this.#regressed += followed
    if (followed > 0)
      this.#warn(
        'The source went back to older versions: it confirmed them twice by id, and they are stored',
        { records: followed },
      )
    return moves
  }

  /** Records that left the list earlier may have changed since, or be gone: only this sees it. */
  async #settleLeft(memory: Memory): Promise<LeftStanding> {
    for (const fetched of await this.#missing.askLeft()) await this.#keep(fetched, false)
    await this.#settleOlder()
    const versions = await this.#liveRows.versions(this.#missing.left)
    const when = { now: this.cursor.now(), isSearch: this.options.full }
    const standing = leftStanding(versions, memory.left, when)
    const { left_the_list: records, left_ids: ids } = leftReport(standing.ids)
    if (records > 0)
      this.#note('Records that the list no longer contains can be read by id; their rows stay', {
        records,
        ids,
      })
    return standing
  }

  async revive(ids: readonly Int64[]): Promise<readonly Int64[]> {
    const found = await this.#confirmation.find(ids)
    for (const fetched of found ?? []) await this.#keep(fetched, false)
    return found ? idsOf(found) : ids
  }
}

/* Writes what follows from the differences that a comparison finds: `reconcile`. */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import { completeThrough, LatenessMeter } from '../../engine/run/lateness.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import { followBack } from '../../engine/run/sourceregression.js'
import { PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { type GoneRow, markDeleted } from '../../engine/run/tombstone.js'
import { moveCursor, setBack } from '../../engine/warehouse/state/cursors.js'
import { addLateness } from '../../engine/warehouse/state/latenessrows.js'
import { isListedAfter, listedVersion, markUnlisted } from '../../engine/warehouse/store/unlisted.js'
import { type Fetched, supersedes } from '../../engine/warehouse/store/versionbatch.js'
import type { Repair } from './deciding.js'

/** Writes differences into the warehouse. */
export class Repairing implements Repair {
  readonly #store: PageStore
  readonly #began: string
  /** Of the records that only a comparison found, because they became visible after every walk that looked for them. */
  #lateness = new LatenessMeter(null)
  /** When the walk began that should have found them; null if that isn't measured. */
  #walkedAt: string | null = null
  /** Records that were missing from the warehouse or older there. */
  stored = 0
  /** Rows marked deleted. */
  deleted = 0
  /** Rows that went back with the source. */
  regressed = 0

  constructor(
    private readonly cursor: CursorRun,
    readonly rows: LiveRows,
  ) {
    this.#store = new PageStore(cursor, 'reconcile')
    this.#began = cursor.now()
  }

  get counts() {
    const { written, changed, removed } = this.#store.counts
    return { written, changed, removed: removed + this.deleted }
  }

  /**
   * `walkedAt`: when the walk started that should have found late records; null if vanished rows can't be told from late
   * records.
   */
  measureLateness(walkedAt: string | null): void {
    const { resource, stats } = this.cursor
    const tell = (micros: number): void => stats.late(resource.name, micros)
    this.#walkedAt = walkedAt
    this.#lateness = new LatenessMeter(walkedAt, { lateOnly: true, tell })
  }

  /**
   * Records how late records became visible, and up to when deletions are known. If nothing was late, the list isn't set
   * back any more. If the source went back, what it shows again was restored and isn't late.
   */
  async keepFreshness(isEven: boolean): Promise<void> {
    const { key, resource, run, warehouse } = this.cursor
    const { db } = warehouse
    const { buckets, largestMicros } = this.#lateness
    const late = this.regressed > 0 ? [] : buckets
    const isTimely = this.#walkedAt !== null && late.length === 0
    const statements = addLateness(
      db,
      { resource: key.resource, day: this.#began.slice(0, 10), way: 'reconcile' },
      late,
    )
    if (this.#walkedAt !== null && late.length > 0) {
      const through = completeThrough(this.#walkedAt, run.lateness.get(resource.name), largestMicros)
      statements.push(setBack(db, key, through))
    }
    if (isEven) {
      const checked = { deletes_checked_at: this.#began }
      statements.push(moveCursor(db, key, isTimely ? { ...checked, complete_through_before: null } : checked))
    }
    if (statements.length > 0) await warehouse.write(statements)
  }

  async store(fetched: Fetched, mayBeLate: boolean) {
    const { previous } = await this.#store.storeFlat(fetched)
    if (mayBeLate) this.#lateness.take(fetched.flattened.records, previous)
    const moves: Move[] = []
    const older: Int64[] = []
    for (const { id, updatedAt } of fetched.flattened.records) {
      const stored = previous.get(id)
      const isKept = stored !== undefined && !supersedes(updatedAt, fetched.startedAt, stored)
      if (isKept && updatedAt < stored.updatedAt) older.push(id)
      if (!isKept && (stored?.deletedAt !== null || stored.updatedAt !== updatedAt)) this.stored++
      const after = isKept ? (stored.deletedAt === null ? stored.updatedAt : null) : updatedAt
      const move = { before: listedVersion(stored), after: isListedAfter(stored, fetched) ? after : null }
      if (move.before !== move.after) moves.push(move)
    }
    return { moves, older }
  }

  async remove(gone: readonly GoneRow[]): Promise<readonly Move[]> {
    const marked = await markDeleted(this.cursor.warehouse, this.cursor, gone)
    this.deleted += marked.length
    return marked.map(({ updatedAt }) => ({ before: updatedAt, after: null }))
  }

  async leave(left: readonly Candidate[]): Promise<void> {
    const { resource, root, run, tenantId, warehouse } = this.cursor
    const tables = { root, derived: resource.derived.map(({ table }) => table) }
    const ids = left.map(({ id }) => id)
    const when = { since: this.cursor.now(), askedAt: fromMicros(run.stamps.next()) }
    await warehouse.write(markUnlisted(warehouse.db, tables, tenantId, ids, when))
  }

  async followBack(answers: Parameters<Repair['followBack']>[0]): Promise<readonly Move[]> {
    const moves: Move[] = []
    let followed = 0
    for (const older of answers) {
      if (!(await followBack(this.#store, older))) continue
      const { fetched, stored } = older
      followed++
      const after = fetched.flattened.records[0]?.updatedAt ?? null
      moves.push({ before: listedVersion(stored), after: isListedAfter(stored, fetched) ? after : null })
    }
    this.regressed += followed
    if (followed > 0)
      this.cursor.warn(
        'The source went back to older versions: it confirmed them twice by id, and they are stored',
        { records: followed },
      )
    return moves
  }
}

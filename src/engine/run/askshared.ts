/*
 * Rows that two live records show (warehouse/state/sharedrows.ts). When a cursor's work is done, the source is queried by id
 * for the record that was shown earlier, which may have lost the row without a new stamp. All work that writes is
 * followed by this, if the cursor's records have such rows.
 */

import type { Int64 } from '../../../schema/resource.js'
import { judged } from '../list/verdict.js'
import type { Cursor } from '../warehouse/state/cursors.js'
import {
  type FoundShared,
  type KnownShared,
  knownShared,
  pairName,
  SharedRows,
  type SharingPair,
  storeShared,
} from '../warehouse/state/sharedrows.js'
import type { Fetched, Version } from '../warehouse/store/versionbatch.js'
import { byIdOf } from './byid.js'
import { Confirmation } from './confirm.js'
import { type CursorList, flatList } from './cursorlist.js'
import { addCounts, type Counts, type CursorResult, type CursorWork } from './cursorwork.js'
import { DeletionGuard, deletionLimit } from './deletionguard.js'
import { LiveRows } from './liverows.js'
import { mostTouched } from './runstats.js'
import { answersApart, askForRegressions, differingText, followBack } from './sourceregression.js'
import { PageStore } from './store.js'
import type { CursorRun } from './tenant.js'
import { type GoneRow, markDeleted } from './tombstone.js'

/** How many records one run requests at most; the next run continues. */
const mostLookups = 100

interface SharedOptions {
  /** Check all rows, not just those the run has written. */
  readonly isWhole?: boolean
  /** Only check where the work has written rows: everything else waits for the next run. */
  readonly onlyTouched?: boolean
  /** Store an older version if the source confirms twice that it went back: only reconcile may. */
  readonly followsBack?: boolean
  /** See `RunRequest`. */
  readonly acceptDeletes?: boolean
}

/** The work, followed by a check of the rows that its records share. */
export function withSharedLook(cursor: CursorRun, work: CursorWork, options: SharedOptions = {}): CursorWork {
  const nested = cursor.resource.tables.filter(({ moves }) => moves)
  if (nested.length === 0) return work
  const look = new SharedLook(cursor, options)
  return {
    run: async () => look.behind(await work.run()),
    get progress() {
      return { ...work.progress, ...addCounts(work.progress, look.counts) }
    },
  }
}

/** Whether the list was read to its end before, and no part of it has to be read again. */
const wasWalkedWhole = (state: Cursor | undefined): boolean =>
  state !== undefined &&
  (state.watermark ?? state.last_success_at) !== null &&
  state.walk === null &&
  state.refill === null

/** One cursor's check of shared rows. */
class SharedLook {
  readonly #rows: SharedRows
  readonly #liveRows: LiveRows
  readonly #list: CursorList
  readonly #store: PageStore
  readonly #confirmation: Confirmation
  #guard: DeletionGuard | undefined
  #deleted = 0
  #regressed = 0
  #differing = 0

  constructor(
    private readonly cursor: CursorRun,
    private readonly options: SharedOptions,
  ) {
    const { root, tenantId, warehouse } = cursor
    const [nested = root] = cursor.resource.tables.filter(({ moves }) => moves)
    this.#rows = new SharedRows(warehouse, tenantId, root, nested)
    this.#liveRows = new LiveRows(warehouse, cursor)
    this.#list = flatList(cursor, 'lookup')
    this.#store = new PageStore(cursor, 'lookup')
    this.#confirmation = new Confirmation(this.#list, byIdOf(cursor, this.#list), { note: cursor.note })
  }

  /** The counts of the check itself. */
  get counts(): Counts {
    const { counts } = this.#store
    return { ...counts, removed: counts.removed + this.#deleted }
  }

  async behind(result: CursorResult): Promise<CursorResult> {
    await this.run()
    const told = { ...result, ...addCounts(result, this.counts) }
    if (this.#differing > 0)
      return {
        ...told,
        outcome:
          result.outcome &&
          judged({ ...result.outcome.evidence, differing: this.#differing }, result.outcome),
        problem: result.problem ?? differingText(this.#differing, this.#confirmation.isById),
      }
    if (this.#regressed > 0 && result.outcome?.verdict === 'proven')
      return {
        ...told,
        outcome: judged({ ...result.outcome.evidence, followedBack: this.#regressed }, result.outcome),
      }
    return told
  }

  async run(): Promise<void> {
    const { key, state, stats, warehouse } = this.cursor
    const before = knownShared(state?.shared_services)
    if (await this.isDue(before)) {
      const known = await this.#settle(before ?? { rows: 0, asked: [], tooMany: false })
      const isNews =
        stats.touched(key.resource) !== undefined || JSON.stringify(known) !== JSON.stringify(before)
      if (isNews) await warehouse.write([storeShared(warehouse.db, key, known)])
    } else if (stats.touched(key.resource)) await warehouse.write([storeShared(warehouse.db, key, before)])
    stats.forgetTouched(key.resource)
  }

  /** Whether to check all rows. An idle cursor whose rows were checked doesn't query the warehouse. */
  async isDue(before: KnownShared | null): Promise<boolean> {
    const touched = this.cursor.stats.touched(this.cursor.key.resource)
    if (this.options.onlyTouched && touched === undefined) return false
    if (this.options.isWhole || !wasWalkedWhole(this.cursor.state)) return true
    if (before) return touched !== undefined || !before.tooMany
    if (!touched) return false
    return touched.size > mostTouched || this.#rows.has([...touched])
  }

  /** Queries the source about new pairs. Returns what is known afterwards; null if nothing is shared. */
  async #settle(before: KnownShared): Promise<KnownShared | null> {
    const asked = new Set(before.asked)
    const unread = new Set<Int64>()
    let found = await this.#rows.look()
    for (;;) {
      const open = found.pairs.filter((pair) => !asked.has(pairName(pair)) && !unread.has(pair.older.id))
      const answered = await this.ask(open)
      if (answered === undefined) for (const pair of open) asked.add(pairName(pair))
      if (!answered || answered.asked === 0) break
      for (const id of answered.unread) unread.add(id)
      for (const pair of open) if (answered.ids.has(pair.older.id)) asked.add(pairName(pair))
      found = await this.#rows.look()
    }
    this.#tell(found, before, unread.size)
    if (found.rows === 0) return null
    const names = found.pairs
      .map(pairName)
      .filter((name) => asked.has(name))
      .sort()
    return { rows: found.rows, asked: names, tooMany: found.tooMany }
  }

  /** Requests the earlier record of each pair, within the run's limit. undefined: the source doesn't answer by id. */
  async ask(pairs: readonly SharingPair[]) {
    const { stats } = this.cursor.run
    const all = [...new Map(pairs.map(({ older }) => [older.id, older])).values()]
    const candidates = all.slice(0, Math.max(0, mostLookups - stats.lookups))
    const [first, ...others] = candidates
    if (!first) return { asked: 0, ids: new Set<Int64>(), unread: [] }
    const [unread, gone]: [Int64[], GoneRow[]] = [[], []]
    // The first request shows whether the source answers by id.
    for (const part of [[first], others]) {
      stats.lookups += part.length
      const answer = await this.#confirmation.askById(part)
      if (!answer.isById) {
        this.#note('The source does not answer by id; rows that two records share are counted and stay')
        return undefined
      }
      await this.#storeAll(answer.moved)
      unread.push(...answer.unclear.keys())
      gone.push(...answer.gone)
    }
    if (gone.length > 0) await this.markGone(gone)
    const ids = new Set(candidates.map(({ id }) => id))
    for (const id of unread) ids.delete(id)
    return { asked: candidates.length, ids, unread }
  }

  async #storeAll(answers: readonly Fetched[]): Promise<void> {
    const older: Int64[] = []
    for (const fetched of answers) {
      const { stale } = await this.#store.storeFlat(fetched)
      if (stale > 0) older.push(...fetched.flattened.records.map(({ id }) => id))
    }
    if (older.length > 0) await this.#older(older)
  }

  /** Records of which the source has an older version than the warehouse: only reconcile may follow it. */
  async #older(ids: readonly Int64[]): Promise<void> {
    if (!this.options.followsBack) {
      this.#note(
        'By id, the source has older versions than the warehouse; the warehouse keeps its own, and reconcile checks them',
        {
          records: ids.length,
        },
      )
      return
    }
    const { clock, signal, answersApartMs = answersApart } = this.cursor.run
    const rows: ReadonlyMap<Int64, Version> = await this.#liveRows.versions(ids)
    const answer = await askForRegressions(this.#confirmation, rows, () =>
      clock.sleep(answersApartMs, signal),
    )
    for (const fetched of answer.newer) await this.#store.storeFlat(fetched)
    for (const older of answer.older) if (await followBack(this.#store, older)) this.#regressed++
    this.#differing += answer.differing
  }

  /** Marks rows whose record is gone, unless there are too many to believe. */
  async markGone(gone: readonly GoneRow[]): Promise<void> {
    const { root, run, tenantId, warehouse } = this.cursor
    const { acceptDeletes: accepted, maxDeletes: share } = deletionLimit(run, this.options.acceptDeletes)
    const live = await warehouse.countRows(root, tenantId)
    this.#guard ??= new DeletionGuard({ live, share, accepted })
    if (!this.#guard.isSmall) this.#guard.pass(gone.length)
    this.#deleted += (await markDeleted(warehouse, this.cursor, gone)).length
  }

  #tell(found: FoundShared, before: KnownShared, unread: number): void {
    const { warn } = this.cursor
    if (found.tooMany && !before.tooMany)
      warn(
        'So many records share nested rows that the ids of these rows cannot be unique: they are only counted; no request asks which record has them',
        { rows: found.rows },
      )
    if (unread > 0)
      warn('Records that share rows with others could not be fetched by id; the next run tries again', {
        records: unread,
      })
  }

  #note(message: string, fields: Record<string, unknown> = {}): void {
    this.cursor.note(message, fields)
  }
}

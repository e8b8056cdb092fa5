/*
 * What each difference between one cursor's rows and its list means: the source is asked by id, and the answer decides.
 * `reconcile` and `verify` ask the same; what follows is up to the Repair, which writes it or only counts it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import type { IdSet } from '../../engine/list/idset.js'
import type { Memory } from '../../engine/list/memory.js'
import type { ById } from '../../engine/run/byid.js'
import { Confirmation, idsOf } from '../../engine/run/confirm.js'
import type { CursorList } from '../../engine/run/cursorlist.js'
import { DeletionGuard } from '../../engine/run/deletionguard.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { Note } from '../../engine/run/runreport.js'
import { answersApart, OlderRows } from '../../engine/run/sourceregression.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import type { GoneRow } from '../../engine/run/tombstone.js'
import { listedVersion } from '../../engine/warehouse/store/unlisted.js'
import type { Fetched, Version } from '../../engine/warehouse/store/versionbatch.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { LeftRecords } from './leftthelist.js'

/** What follows from the differences that a comparison finds. `reconcile` writes it, `verify` only counts it. */
export interface Repair {
  /** The rows to compare with the source, as they are once everything found so far is repaired. */
  readonly rows: Pick<LiveRows, 'all' | 'cells' | 'rows' | 'versions'>
  /**
   * Records that the source shows. `mayBeLate`: the warehouse knows no reason why they were missing. Returns how rows
   * moved, and the records whose row is newer: these stay as they are.
   */
  store(
    fetched: Fetched,
    mayBeLate: boolean,
  ): Promise<{ readonly moves: readonly Move[]; readonly older: readonly Int64[] }>
  /** Rows whose record is gone. Returns how rows moved. */
  remove(rows: readonly GoneRow[]): Promise<readonly Move[]>
  /** Rows whose record exists but has left the list. */
  leave(rows: readonly Candidate[]): Promise<void>
  /** Records that the source has shown twice in the same older version. Returns how rows moved. */
  followBack(older: readonly { fetched: Fetched; stored: Version; id: Int64 }[]): Promise<readonly Move[]>
}

/** How one cursor's comparison reaches the source and the warehouse. */
export interface Sides {
  readonly cursor: CursorRun<Warehouse>
  readonly list: CursorList
  readonly byId: ById
  readonly live: LiveRows
  readonly repair: Repair
  /** What is remembered about the list. */
  memory(): Memory
  /** Stores or counts what has come since. */
  refresh(): Promise<unknown>
  /** How many rows may be deleted; absent if none is. */
  readonly limit?: {
    /** Mark rows as deleted, however many are gone. */
    readonly acceptDeletes: boolean
    /** Otherwise, the share of a cursor's rows that may be marked deleted at once. */
    readonly maxDeletes: number
  }
  /** Reports why the whole list is compared. */
  readonly tell: Note
}

/** How many rows are requested first when there are many: they show whether a landslide is real. */
const sampleSize = 20
const idsAtOnce = 1000

/** Decides about the differences of one cursor. */
export class Deciding {
  readonly #confirmation: Confirmation
  readonly #left: LeftRecords
  /** Records that the source shows in an older version than the row's. */
  readonly #older: OlderRows
  #guard: DeletionGuard | undefined

  constructor(private readonly sides: Sides) {
    const { cursor, list, byId, live } = sides
    const { note, run } = cursor
    const hasHoles = (): boolean => sides.memory().holes !== undefined
    this.#confirmation = new Confirmation(list, byId, { note, hasHoles })
    const pause = (): Promise<void> => run.clock.sleep(run.answersApartMs ?? answersApart, run.signal)
    const parts = { confirmation: this.#confirmation, pause }
    this.#left = new LeftRecords({ ...parts, liveRows: live })
    this.#older = new OlderRows({
      ...parts,
      versions: (ids) => live.versions(ids),
      mostTwice: () => sides.memory().twice ?? 0,
    })
  }

  /** Records that the list shows in another version than the answer by id. */
  get differing(): number {
    return this.#older.differing
  }

  /** Rows that the list doesn't show and about which the answer by id says nothing. */
  get unclear(): Confirmation['unclear'] {
    return this.#confirmation.unclear
  }

  /** Records that left the list earlier and about which the answer by id says nothing any more. */
  get leftUnclear(): Confirmation['unclear'] {
    return this.#left.unclear
  }

  /** See `Confirmation.isById`. */
  get isById(): boolean {
    return this.#confirmation.isById
  }

  /** Records that a walk has found in an older version than their rows. */
  met(ids: Iterable<Int64>): void {
    this.#older.met(ids)
  }

  async store(fetched: Fetched, mayBeLate = true): Promise<readonly Move[]> {
    const { moves, older } = await this.sides.repair.store(fetched, mayBeLate)
    this.#older.met(older)
    return moves
  }

  /**
   * Asks for rows that the list doesn't show: their record has moved, is gone, or has left the list. Then asks for
   * records found in older versions than their rows, whether or not rows are missing. `counted`: how many of them the
   * source may count without showing them. Returns how rows moved.
   */
  async settle(missing: readonly Candidate[], counted = 0): Promise<readonly Move[]> {
    const moves = missing.length > 0 ? await this.#settleMissing(missing, counted) : []
    return [...moves, ...(await this.#settleOlder())]
  }

  async #settleMissing(missing: readonly Candidate[], counted: number): Promise<readonly Move[]> {
    const { repair } = this.sides
    const stored = await repair.rows.versions(missing.map(({ id }) => id))
    const doubtful = missing.filter(({ id, updatedAt }) => {
      const version = stored.get(id)
      return version?.deletedAt === null && version.updatedAt === updatedAt
    })
    const guard = await this.#limit()
    const gone: GoneRow[] = []
    const found: Fetched[] = []
    const moves: Move[] = []
    // Avoids a hundred thousand useless requests: if a whole sample is gone, the rest isn't requested.
    const isSampled = guard !== undefined && !guard.isSmall && guard.trips(doubtful.length)
    const sample = isSampled ? doubtful.slice(0, sampleSize) : doubtful
    for (const part of isSampled ? [sample, doubtful.slice(sampleSize)] : [doubtful]) {
      const answer = await this.#confirmation.ask(part)
      for (const fetched of answer.moved) moves.push(...(await this.store(fetched)))
      found.push(...answer.moved)
      gone.push(...answer.gone)
      if (isSampled && part === sample && gone.length === part.length) guard.refuse(doubtful.length)
    }
    moves.push(...(await this.#remove(gone)))
    const left = await this.#left.among({ missing: doubtful, moved: found, counted })
    if (left.length > 0) await repair.leave(left)
    return [...moves, ...left.map(({ updatedAt }): Move => ({ before: updatedAt, after: null }))]
  }

  /** Removes rows whose record is gone, unless there are too many to believe. */
  async #remove(gone: readonly GoneRow[]): Promise<readonly Move[]> {
    if (gone.length === 0) return []
    const guard = await this.#limit()
    if (guard && (!guard.isSmall || !this.isById)) guard.pass(gone.length)
    return this.sides.repair.remove(gone)
  }

  async #limit(): Promise<DeletionGuard | undefined> {
    const { limit, live } = this.sides
    if (!limit) return undefined
    this.#guard ??= new DeletionGuard({
      live: await live.countLive(),
      share: limit.maxDeletes,
      accepted: limit.acceptDeletes,
    })
    return this.#guard
  }

  /** Asks for records that the source shows in an older version than the row's. */
  async #settleOlder(): Promise<readonly Move[]> {
    const answer = await this.#older.ask()
    if (!answer) return []
    const moves: Move[] = []
    for (const fetched of answer.newer) moves.push(...(await this.store(fetched)))
    return [...moves, ...(await this.sides.repair.followBack(answer.older))]
  }

  /**
   * Asks again for records that left the list earlier: only this sees them change or go. Returns those that exist and
   * that the list still doesn't show, each with since when.
   */
  async settleLeft(): Promise<ReadonlyMap<Int64, string>> {
    const { gone = [], moved = [] } = (await this.#left.askAgain()) ?? {}
    await this.#remove(gone)
    for (const fetched of moved) await this.store(fetched, false)
    await this.#settleOlder()
    const { ids } = this.#left
    const versions = await this.sides.repair.rows.versions(ids)
    return new Map(
      ids.flatMap((id) => {
        const since = versions.get(id)?.unlistedAt ?? null
        return since === null ? [] : [[id, since] as const]
      }),
    )
  }

  /**
   * What a list shows has to be live here. A deletion mark that is dated ahead of every request made now would keep its
   * record away for good, and no count of a list of everything would say so. Returns how many stay without a live row.
   */
  async revive(shown: IdSet): Promise<number> {
    let refused = 0
    for (const ids of batches(shown.ids())) {
      const hidden = await this.#notLive(ids)
      if (hidden.length === 0) continue
      const found = await this.#confirmation.find(hidden)
      for (const fetched of found ?? []) await this.store(fetched, false)
      // Those that are gone by now are marked rightly.
      refused += (await this.#notLive(found ? idsOf(found) : hidden)).length
    }
    return refused
  }

  /** Those without a row that the list should show. */
  async #notLive(ids: readonly Int64[]): Promise<readonly Int64[]> {
    const versions = await this.sides.repair.rows.versions(ids)
    return ids.filter((id) => listedVersion(versions.get(id)) === null)
  }
}

function* batches(ids: Iterable<Int64>): Generator<readonly Int64[]> {
  let batch: Int64[] = []
  for (const id of ids) {
    batch.push(id)
    if (batch.length < idsAtOnce) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

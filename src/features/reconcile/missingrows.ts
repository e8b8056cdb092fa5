/*
 * Rows that a list doesn't show: the source is asked by id, and each is marked deleted, stored again, or kept as one whose
 * record has left the list.
 */
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Move } from '../../engine/compare/histogram.js'
import type { Confirmation } from '../../engine/run/confirm.js'
import { DeletionGuard } from '../../engine/run/deletionguard.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { type GoneRow, markDeleted } from '../../engine/run/tombstone.js'
import { markUnlisted } from '../../engine/warehouse/unlisted.js'
import type { Fetched } from '../../engine/warehouse/versionbatch.js'
import { LeftRecords } from './leftthelist.js'

export interface DeletionOptions {
  /** Mark rows as deleted, however many are gone. */
  readonly acceptDeletes: boolean
  /** Otherwise, the share of a cursor's rows that may be marked deleted at once. */
  readonly maxDeletes: number
}

interface MissingParts {
  readonly liveRows: LiveRows
  readonly confirmation: Confirmation
  /** Waits between two responses by id. */
  pause(): Promise<void>
  store(fetched: Fetched): Promise<readonly Move[]>
}

/** How many rows are requested first when there are many: they show whether a landslide is real. */
const sampleSize = 20

/** One cursor's rows that its list doesn't show. */
export class MissingRows {
  readonly #left: LeftRecords
  #guard: DeletionGuard | undefined
  /** Rows marked deleted. */
  deleted = 0

  constructor(
    private readonly cursor: CursorRun,
    private readonly options: DeletionOptions,
    private readonly parts: MissingParts,
  ) {
    this.#left = new LeftRecords(parts)
  }

  /** Records that have left the list, as far as this comparison has asked for them. */
  get left(): readonly Int64[] {
    return this.#left.ids
  }

  get unclear(): LeftRecords['unclear'] {
    return this.#left.unclear
  }

  /** `counted`: how many of them the source may count without showing them. Returns how rows moved. */
  async settle(candidates: readonly Candidate[], counted: number): Promise<Move[]> {
    const { confirmation, liveRows, store } = this.parts
    const stored = await liveRows.versions(candidates.map(({ id }) => id))
    const doubtful = candidates.filter(({ id, updatedAt }) => {
      const version = stored.get(id)
      return version?.deletedAt === null && version.updatedAt === updatedAt
    })
    const guard = await this.#limit()
    const gone: GoneRow[] = []
    const found: Fetched[] = []
    const moves: Move[] = []
    // Avoids a hundred thousand useless requests: if a whole sample is gone, the rest isn't requested.
    const isSampled = !guard.isSmall && guard.trips(doubtful.length)
    const sample = isSampled ? doubtful.slice(0, sampleSize) : doubtful
    for (const part of isSampled ? [sample, doubtful.slice(sampleSize)] : [doubtful]) {
      const answer = await confirmation.ask(part)
      for (const fetched of answer.moved) moves.push(...(await store(fetched)))
      found.push(...answer.moved)
      gone.push(...answer.gone)
      if (isSampled && part === sample && gone.length === part.length) guard.refuse(doubtful.length)
    }
    const marked = await this.#markDeleted(gone)
    const left = await this.#left.among({ missing: doubtful, moved: found, counted })
    await this.#markLeft(left)
    return [
      ...moves,
      ...[...marked, ...left].map(({ updatedAt }): Move => ({ before: updatedAt, after: null })),
    ]
  }

  /**
   * Asks again for records that left the list earlier, and marks those that are gone. Returns the answers about the
   * others, which the caller has to store.
   */
  async askLeft(): Promise<readonly Fetched[]> {
    const { gone = [], moved = [] } = (await this.#left.askAgain()) ?? {}
    await this.#markDeleted(gone)
    return moved
  }

  /** Marks rows whose record is gone, unless there are too many to believe. */
  async #markDeleted(gone: readonly GoneRow[]): Promise<readonly GoneRow[]> {
    if (gone.length === 0) return []
    const guard = await this.#limit()
    if (!guard.isSmall || !this.parts.confirmation.isById) guard.pass(gone.length)
    const marked = await markDeleted(this.cursor.warehouse, this.cursor, gone)
    this.deleted += marked.length
    return marked
  }

  async #markLeft(left: readonly Candidate[]): Promise<void> {
    if (left.length === 0) return
    const { resource, root, run, tenantId, warehouse } = this.cursor
    const tables = { root, derived: resource.derived.map(({ table }) => table) }
    const ids = left.map(({ id }) => id)
    const when = { since: this.cursor.now(), askedAt: fromMicros(run.stamps.next()) }
    await warehouse.write(markUnlisted(warehouse.db, tables, tenantId, ids, when))
  }

  async #limit(): Promise<DeletionGuard> {
    this.#guard ??= new DeletionGuard({
      live: await this.parts.liveRows.countLive(),
      share: this.options.maxDeletes,
      accepted: this.options.acceptDeletes,
    })
    return this.#guard
  }
}

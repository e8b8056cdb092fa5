/*
 * Deletions announced by events. The event isn't proof: the source is queried with the full confirmation that
 * `reconcile` uses. What can't be confirmed is left to the next reconcile.
 */
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import { addMicros } from '../../engine/base/timestamp.js'
import type { UnclearAnswer } from '../../engine/run/answerbyid.js'
import { byIdOf } from '../../engine/run/byid.js'
import { Confirmation } from '../../engine/run/confirm.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import { DeletionGuard, deletionLimit } from '../../engine/run/deletionguard.js'
import { PageStore } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { markDeleted } from '../../engine/run/tombstone.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { EventRow } from './events.js'

/**
 * The guard counts deletions over this period together, in microseconds: one by one, no event would ever look like a
 * landslide.
 */
const hour = 3_600_000_000n

/** What an answer that says nothing about its record means for an event. `not_asked`: there was none to read. */
const openReasons: Readonly<Record<UnclearAnswer['kind'], string>> = {
  refused: 'refused',
  another: 'no_record',
  nothing: 'no_record',
  unread: 'not_asked',
}

export const isOpenReason = (reason: string | null): boolean =>
  Object.values(openReasons).some((one) => one === reason)

export const openEvents = (rows: readonly EventRow[], answer?: UnclearAnswer): [EventRow, string][] =>
  rows.map((row) => [row, openReasons[answer?.kind ?? 'unread']])

export class DeletedEvents {
  /** Remembers a record that exists, to see that the source answers by id: several parts are asked one by one. */
  readonly #list: CursorList

  constructor(private readonly cursor: CursorRun) {
    this.#list = flatList(cursor, 'lookup')
  }

  /** The events among these whose records are in the warehouse and aren't marked as deleted. */
  async ofLive(rows: readonly EventRow[]): Promise<EventRow[]> {
    const live = await this.#live(recordsOf(rows))
    return rows.filter(({ record_id }) => live.has(record_id))
  }

  /**
   * Queries the source about the records of these events, and marks those that are gone as deleted. `notLive`: events whose
   * records aren't in the warehouse, or are already marked; `left`: whose records seem to be gone, but were left alone;
   * `exists`: whose records still exist; `open`: about whose records the source gave no answer, or one that says nothing.
   */
  async ask(rows: readonly EventRow[]): Promise<{
    readonly notLive: readonly EventRow[]
    readonly deleted: readonly EventRow[]
    readonly left?: { readonly rows: readonly EventRow[]; readonly reason: string }
    readonly exists: readonly EventRow[]
    /** Events whose records were requested without learning anything about them, and the reason that is shown. */
    readonly open: ReadonlyMap<EventRow, string>
  }> {
    const live = await this.#live(recordsOf(rows))
    const of = (ids: ReadonlySet<Int64>): EventRow[] => rows.filter(({ record_id }) => ids.has(record_id))
    const notLive = rows.filter(({ record_id }) => !live.has(record_id))
    if (live.size === 0) return { notLive, deleted: [], exists: [], open: new Map() }
    const { gone, there, unclear, isKnown, isById } = await this.#confirm(live)
    const goneIds = new Set(gone.map(({ id }) => id))
    const rest = new Set([...live.keys()].filter((id) => !goneIds.has(id) && !there.has(id)))
    const open = new Map([...rest].flatMap((id) => openEvents(of(new Set([id])), unclear.get(id))))
    const shared = { notLive, exists: of(there), open }
    if (isKnown && (await this.#isBelieved(gone.length, isById))) {
      await markDeleted(this.cursor.warehouse, this.cursor, gone)
      return { ...shared, deleted: of(goneIds) }
    }
    const reason = isKnown ? 'breaker' : 'nothing_to_ask'
    if (gone.length > 0) this.#tellLeft(gone.length, reason)
    return { ...shared, deleted: [], left: { rows: of(goneIds), reason } }
  }

  /** Versions of the live rows among these records. */
  async #live(ids: readonly Int64[]): Promise<Map<Int64, string>> {
    const { warehouse, root, tenantId } = this.cursor
    const live = new Map<Int64, string>()
    for (const part of inParts(ids)) {
      const rows = await warehouse.read((db) =>
        db
          .selectFrom(rootTable(root))
          .select(['id', 'updated_at'])
          .where('tenant_id', '=', tenantId)
          .where('_deleted_at', 'is', null)
          .where('id', 'in', part)
          .execute(),
      )
      for (const { id, updated_at } of rows) live.set(id, updated_at)
    }
    return live
  }

  /**
   * `isKnown`: a 404 means something, because the source has shown that it answers by id, or because a second list
   * confirms it.
   */
  async #confirm(live: ReadonlyMap<Int64, string>) {
    const { cursor } = this
    const list = this.#list
    const store = new PageStore(cursor, 'lookup')
    const confirmation = new Confirmation(list, byIdOf(cursor, list), { note: cursor.note })
    const candidates = [...live].map(([id, updatedAt]) => ({ id, updatedAt }))
    const { gone, moved } = await confirmation.ask(candidates)
    const there = new Set<Int64>()
    for (const fetched of moved) {
      await store.storeFlat(fetched)
      for (const { id } of fetched.flattened.records) if (live.has(id)) there.add(id)
    }
    const isKnown = gone.length === 0 || list.probeId !== undefined
    return { gone, there, unclear: confirmation.unclear, isKnown, isById: confirmation.isById }
  }

  /** The rule of `reconcile`, applied to all deletions of the last hour. */
  async #isBelieved(more: number, isById: boolean): Promise<boolean> {
    if (more === 0) return true
    const { warehouse, root, tenantId, run } = this.cursor
    const since = addMicros(this.cursor.now(), -hour)
    const row = await warehouse.read((db) =>
      db
        .selectFrom(rootTable(root))
        .select((eb) => eb.fn.countAll<Int64>().as('n'))
        .where('tenant_id', '=', tenantId)
        .where('_deleted_at', '>', since)
        .executeTakeFirst(),
    )
    const before = Number(row?.n ?? 0)
    const live = (await warehouse.countRows(root, tenantId)) + before
    const { acceptDeletes: accepted, maxDeletes: share } = deletionLimit(run)
    const guard = new DeletionGuard({ live, share, accepted })
    return (guard.isSmall && isById) || !guard.trips(before + more)
  }

  #tellLeft(records: number, reason: string): void {
    const { key, warn } = this.cursor
    const hint = `shopsync reconcile --accept-deletes --tenant ${key.tenantId} --resource ${key.resource}`
    warn('Records that were deleted according to events were left alone', { records, reason, hint })
  }
}

const recordsOf = (rows: readonly EventRow[]): Int64[] => [...new Set(rows.map(({ record_id }) => record_id))]

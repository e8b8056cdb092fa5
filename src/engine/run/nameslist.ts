/*
 * A resource that is a bare list of strings: no ids, no times, no pages. Each sync reads the whole list and, in the
 * same transaction, marks the rows deleted whose names are no longer in it. `verify` reads the same list and its rows.
 */

import type { Clocks } from '../list/clocks.js'
import type { Value } from '../model/flatten/batch.js'
import type { Priority } from '../source/source.js'
import { rootTable } from '../warehouse/database.js'
import { notMarked } from '../warehouse/layout/interference.js'
import { moveCursor } from '../warehouse/state/cursors.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import { stampsEnd } from '../warehouse/store/voidstamps.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import { clocksOf } from './cursorlist.js'
import {
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
  wholeOutcome,
} from './cursorwork.js'
import { Freshness } from './freshness.js'
import { polled } from './polls.js'
import { PageStore } from './store.js'
import { type CursorRun, rootOf } from './tenant.js'

/** The list of names at the source. */
export async function readNames(
  { tenantId, resource, source, signal }: CursorRun<Warehouse>,
  options: { readonly priority: Priority },
): Promise<
  Fetched & {
    /** The names that can be stored. */
    readonly names: ReadonlySet<Value>
    readonly clocks: Clocks
  }
> {
  const answer = await source.strings({ tenantId, path: resource.path, signal, ...options })
  const { value, careful, startedAt, requestId } = answer
  const tokens = (): readonly unknown[] => answer.tokens() as readonly unknown[]
  const flattened = resource.flatten(tenantId, value, careful, { ...answer, form: 'double', tokens })
  const rows = flattened.rows.get(rootOf(resource).name) ?? []
  const names = new Set(rows.map(([name]) => name ?? null))
  return {
    flattened,
    records: value.length,
    startedAt,
    requestId,
    page: undefined,
    names,
    clocks: clocksOf(answer),
  }
}

/** The names of the live rows. */
export async function liveNames({
  tenantId,
  root,
  warehouse,
}: CursorRun<Warehouse>): Promise<ReadonlySet<Value>> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom(rootTable(root))
      .select('name')
      .where('tenant_id', '=', tenantId)
      .where('_deleted_at', 'is', null)
      .execute(),
  )
  return new Set(rows.map((row) => row.name))
}

/** How many values the first set has and the second lacks. */
export const countNotIn = (some: ReadonlySet<Value>, others: ReadonlySet<Value>): number =>
  [...some].filter((value) => !others.has(value)).length

/** Syncs one tenant's names. */
export class NamesSync implements CursorWork {
  readonly progress: CursorProgress = { ...noCounts, watermark: null }

  constructor(private readonly cursor: CursorRun) {}

  async run(): Promise<CursorResult> {
    const { key, root, warehouse, observer } = this.cursor
    const began = this.cursor.now()
    const read = await readNames(this.cursor, { priority: 'incremental' })
    const { names, records, startedAt } = read
    const gone = warehouse.db
      .updateTable(rootTable(root))
      .set({ _deleted_at: startedAt, _synced_at: startedAt })
      .where('tenant_id', '=', key.tenantId)
      .where('_deleted_at', 'is', null)
      .where((eb) => eb.or([eb('_synced_at', '<', startedAt), eb('_synced_at', '>', stampsEnd(eb))]))
      .compile()
    const freshness = new Freshness(this.cursor, { isMeasured: false })
    freshness.answered({ ...read.clocks, own: began })
    const outcome = wholeOutcome(records)
    const before = await liveNames(this.cursor)
    const news = countNotIn(names, before)
    const { state } = this.cursor
    const counted = state?.polled_at == null ? undefined : { news, unannounced: news }
    const cursor = moveCursor(warehouse.db, key, {
      ...freshness.columns(outcome),
      ...polled(state, began, counted),
      // The whole list is read: what it no longer shows is deleted.
      deletes_checked_at: began,
      status: 'ok',
      completeness: outcome.verdict,
      reason: outcome.reason,
      last_success_at: this.cursor.now(),
      last_error: null,
      last_run_id: warehouse.runId,
    })
    const store = new PageStore(this.cursor, undefined)
    await store.storeFlat(read, { statements: [gone, cursor] })
    await this.#checkMarked(names)
    // Every name's row is written each time, for its stamp. Only new names count as written.
    const written = news
    observer.page?.({ ...key, records, changed: written, expected: records, done: records })
    return {
      ...store.counts,
      written,
      changed: written,
      removed: countNotIn(before, names),
      watermark: null,
      outcome,
    }
  }

  /** Reads back the live names if something interferes with their table. */
  async #checkMarked(names: ReadonlySet<Value>): Promise<void> {
    const { root, warehouse } = this.cursor
    if (!(await warehouse.interfered.ask()).has(root.name)) return
    await warehouse.read(async () => {
      const kept = countNotIn(await liveNames(this.cursor), names)
      if (kept > 0) throw notMarked(warehouse.where, root.name, kept)
    })
  }
}

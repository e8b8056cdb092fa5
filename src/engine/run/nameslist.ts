/*
 * A resource that is a bare list of strings: no ids, no times, no pages. Each sync reads the list whole and marks the
 * rows deleted, in the same transaction, whose names are no longer in it. `verify` reads the same list and its rows.
 */

import type { Value } from '../model/flatten/batch.js'
import type { Priority, Source } from '../source/source.js'
import type { Clocks } from '../walk/clocks.js'
import { moveCursor } from '../warehouse/cursors.js'
import { rootTable } from '../warehouse/database.js'
import { clocksOf } from './cursorlist.js'
import {
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
  wholeOutcome,
} from './cursorwork.js'
import { Freshness } from './freshness.js'
import { type CursorContext, type CursorTask, keyOf, now, type RunContext, rootOf } from './runcontext.js'
import { type Fetched, PageStore } from './store.js'

interface NamesRead extends Fetched {
  /** The names that can be stored. */
  readonly names: ReadonlySet<Value>
  readonly clocks: Clocks
}

/** The list of names at the source. */
export async function readNames(
  source: Source,
  { tenantId, resource }: CursorTask,
  options: { readonly priority: Priority; readonly signal: AbortSignal },
): Promise<NamesRead> {
  const answer = await source.strings({ tenantId, path: resource.path, ...options })
  const { values, careful, startedAt, requestId } = answer
  const tokens = (): readonly unknown[] => answer.tokens() as readonly unknown[]
  const flattened = resource.flatten(values, careful, { ...answer, form: 'double', tokens })
  const rows = flattened.rows.get(rootOf(resource).name) ?? []
  const names = new Set(rows.map(([name]) => name ?? null))
  return {
    flattened,
    records: values.length,
    startedAt,
    requestId,
    page: undefined,
    names,
    clocks: clocksOf(answer),
  }
}

/** The names of the live rows. */
export async function liveNames(
  { warehouse }: Pick<CursorContext, 'warehouse'>,
  { tenantId, resource }: CursorTask,
): Promise<ReadonlySet<Value>> {
  const rows = await warehouse.read((db) =>
    db
      .selectFrom(rootTable(rootOf(resource)))
      .select('name')
      .where('tenant_id', '=', tenantId)
      .where('_deleted_at', 'is', null)
      .execute(),
  )
  return new Set(rows.map((row) => row.name))
}

/** How many values the first set has and the second lacks. */
export const surplus = (some: ReadonlySet<Value>, others: ReadonlySet<Value>): number =>
  [...some].filter((value) => !others.has(value)).length

/** Syncs one tenant's names. */
export class NamesSync implements CursorWork {
  readonly progress: CursorProgress = { ...noCounts, watermark: null }

  constructor(
    private readonly context: RunContext,
    private readonly task: CursorTask,
    private readonly source: Source,
  ) {}

  async run(): Promise<CursorResult> {
    const { warehouse, signal, runId, observer } = this.context
    const key = keyOf(this.task)
    const began = now(this.context)
    const read = await readNames(this.source, this.task, { priority: 'incremental', signal })
    const { names, records, startedAt } = read
    const gone = warehouse.db
      .updateTable(rootTable(rootOf(this.task.resource)))
      .set({ _deleted_at: startedAt })
      .where('tenant_id', '=', key.tenantId)
      .where('_deleted_at', 'is', null)
      .where('_synced_at', '<', startedAt)
      .compile()
    const freshness = new Freshness(this.context, this.task, { isMeasured: false })
    freshness.answered({ ...read.clocks, own: began })
    const outcome = wholeOutcome(records)
    const cursor = moveCursor(warehouse.db, key, {
      ...freshness.columns(outcome),
      // The list is read whole: what it no longer shows is deleted.
      deletes_checked_at: began,
      status: 'ok',
      completeness: outcome.verdict,
      reason: outcome.reason,
      last_success_at: now(this.context),
      last_error: null,
      last_run_id: runId,
    })
    const before = await liveNames(this.context, this.task)
    const store = new PageStore(this.context, key, undefined)
    await store.storeFlat(read, { statements: [gone, cursor] })
    // Every name's row is written each time, for its stamp: new names alone count as written.
    const written = surplus(names, before)
    observer.page?.({ ...key, records, changed: written, expected: records, done: records })
    return {
      ...store.counts,
      written,
      changed: written,
      removed: surplus(before, names),
      watermark: null,
      outcome,
    }
  }
}

import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import { Bug } from '../../errors.js'
import type { Value } from '../../model/flatten/batch.js'
import type { ResourceModel } from '../../model/registry.js'
import type { Table } from '../../model/tables.js'
import { moveCursor } from '../../warehouse/cursors.js'
import { rootTable } from '../../warehouse/dialect.js'
import { now, type RunContext } from '../run/context.js'
import type { CursorResult } from './incremental.js'

/**
 * A bare list of strings: no ids, no time, no pages. It is read whole each time, and what is no longer in it is marked
 * deleted in the same transaction.
 */
export async function syncStrings(
  context: RunContext,
  tenantId: Int64,
  resource: ResourceModel,
  source: Source,
): Promise<CursorResult> {
  const { warehouse, signal, runId, fence } = context
  const answer = await source.strings({ tenantId, path: resource.path, priority: 'incremental', signal })
  const flattened = resource.flatten(answer.values, answer.careful)
  const [table] = resource.tables
  if (!table) throw new Bug(`${resource.name} has no table`)
  const gone = warehouse.db
    .updateTable(rootTable(table))
    .set({ _deleted_at: answer.startedAt })
    .where('tenant_id', '=', tenantId)
    .where('_deleted_at', 'is', null)
    .where('_synced_at', '<', answer.startedAt)
  const key = { tenantId, resource: resource.name }
  const cursor = moveCursor(warehouse.db, key, {
    status: 'ok',
    completeness: 'proven',
    last_success_at: now(context),
    last_error: null,
    last_run_id: runId,
  })
  const before = await liveNames(context, table, tenantId)
  await warehouse.apply({
    ...key,
    flattened,
    syncedAt: answer.startedAt,
    statements: [gone.compile(), cursor],
    fence,
  })
  context.counted.quarantined += flattened.quarantine.length
  const records = answer.values.length
  const names = (flattened.rows.get(table.name) ?? []).map((tuple) => tuple[0] ?? null)
  const written = names.filter((name) => !before.has(name)).length
  context.observer.page?.({ ...key, records, rows: written, expected: records, done: records })
  const books = { first: records, last: records, distinct: records, entered: 0, fallen: 0 }
  return {
    outcome: { verdict: 'proven', ceiling: null, books, reason: null },
    watermark: null,
    records,
    unstorable: flattened.unstorable,
    written,
    removed: [...before].filter((name) => !names.includes(name)).length,
  }
}

async function liveNames(context: RunContext, table: Table, tenantId: Int64): Promise<Set<Value>> {
  const rows = await context.warehouse.read((db) =>
    db
      .selectFrom(rootTable(table))
      .select('name')
      .where('tenant_id', '=', tenantId)
      .where('_deleted_at', 'is', null)
      .execute(),
  )
  return new Set(rows.map((row) => row.name))
}

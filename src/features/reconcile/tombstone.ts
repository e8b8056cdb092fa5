import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { Fetched, PageStore } from '../../engine/run/store.js'
import { type CursorRun, type CursorTask, keyOf, rootOf } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { DialectWriter, LeasedWarehouse } from '../../engine/warehouse/leasedwarehouse.js'
import { forgetRecord } from '../../engine/warehouse/quarantine.js'
import { enterRows, lockRegister } from '../../engine/warehouse/register/register.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Applied } from '../../engine/warehouse/versionbatch.js'
import { keepDeleted, versionTables } from '../../engine/warehouse/versions.js'

/** A row whose record the source no longer has, and when it was requested. */
export interface GoneRow {
  readonly id: Int64
  /** The version of the row. If the row has another version by now, a later request has stored it. */
  readonly updatedAt: string
  /** Stamp of the request: only a later request can bring the record back. */
  readonly askedAt: string
}

const rowsAtOnce = 200

/**
 * Marks rows as deleted, and removes their quarantine entries. A row stored by a later request stays as it is. Returns
 * the marked rows.
 */
export async function markDeleted(
  warehouse: DialectWriter,
  task: CursorTask,
  gone: readonly GoneRow[],
): Promise<GoneRow[]> {
  const key = keyOf(task)
  const marked: GoneRow[] = []
  for (let i = 0; i < gone.length; i += rowsAtOnce) {
    const part = await warehouse.transaction(async (session) => {
      const register = await session.run(lockRegister(warehouse.db, key))
      const done: GoneRow[] = []
      const rows = gone.slice(i, i + rowsAtOnce)
      const { history } = task.resource
      // The ending version is read before its row is marked: nobody may replace it in between.
      if (history)
        await session.versions(
          rootOf(task.resource),
          task.tenantId,
          rows.map(({ id }) => id),
        )
      for (const row of rows) if (await mark(warehouse, session, task, row)) done.push(row)
      const entry = enterRows(warehouse.db, key, register.rows[0], { went: done })
      if (entry) await session.run(entry)
      return done
    })
    marked.push(...part)
  }
  return marked
}

/**
 * Stores what the source shows, even if a row is marked deleted as of a time that is still to come: no request sent now
 * could bring its record back otherwise. Such a mark comes from a machine whose clock was ahead, or from a person.
 */
export async function storeShown(
  cursor: CursorRun<LeasedWarehouse>,
  store: PageStore,
  fetched: Fetched,
): Promise<Applied> {
  const applied = await store.storeFlat(fetched)
  const { startedAt, flattened } = fetched
  const refused = flattened.records.flatMap(({ id }) => {
    const stored = applied.previous.get(id)
    return stored && stored.deletedAt !== null && stored.syncedAt >= startedAt ? id : []
  })
  if (refused.length === 0) return applied
  const { run, tenantId, warehouse, warn } = cursor
  const lowered = warehouse.db
    .updateTable(rootTable(rootOf(cursor.resource)))
    .set({ _synced_at: fromMicros(toMicros(startedAt) - 1n) })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', refused)
    .where('_deleted_at', 'is not', null)
    .where('_synced_at', '>', fromMicros(run.stamps.next()))
  const records = await warehouse.write([lowered.compile()])
  if (records === 0) return applied
  warn('Rows were marked deleted as of a time that is still to come, and the source shows their records', {
    records,
  })
  return store.storeFlat(fetched)
}

async function mark(
  { db, dialect }: DialectWriter,
  session: Session,
  task: CursorTask,
  row: GoneRow,
): Promise<boolean> {
  const { id, updatedAt, askedAt } = row
  const { history, tables } = task.resource
  if (history)
    await keepDeleted({ dialect, session, tables: versionTables(history, tables) }, task.tenantId, row)
  const tombstone = db
    .updateTable(rootTable(rootOf(task.resource)))
    .set({ _deleted_at: askedAt, _synced_at: askedAt, _unlisted_at: null })
    .where('tenant_id', '=', task.tenantId)
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .where('_deleted_at', 'is', null)
    .where('_synced_at', '<', askedAt)
  if ((await session.run(tombstone.compile())).affected === 0) return false
  for (const { table } of task.resource.derived)
    await session.run(
      db
        .updateTable(rootTable(table))
        .set({ _deleted_at: askedAt, _synced_at: askedAt, _unlisted_at: null })
        .where('tenant_id', '=', task.tenantId)
        .where(sql.ref(table.owner ?? ''), '=', id)
        .compile(),
    )
  await session.run(forgetRecord(db, keyOf(task), String(id)))
  return true
}

import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../base/parts.js'
import { rootTable } from '../warehouse/database.js'
import { notMarked } from '../warehouse/layout/interference.js'
import { forgetRecord } from '../warehouse/state/quarantine.js'
import { enterRows, lockRegister } from '../warehouse/store/register.js'
import { keepDeleted, versionTables } from '../warehouse/store/versions.js'
import { lowerVoidStamps } from '../warehouse/store/voidstamps.js'
import type { Session } from '../warehouse/transaction.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import { type CursorTask, keyOf, rootOf } from './tenant.js'

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
  warehouse: Writer,
  task: CursorTask,
  gone: readonly GoneRow[],
): Promise<GoneRow[]> {
  const key = keyOf(task)
  const readBack = await warehouse.interfered.ask()
  const marked: GoneRow[] = []
  // In the order in which pages lock rows that several lists write.
  const sorted = gone.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  for (const rows of inParts(sorted, rowsAtOnce)) {
    const part = await warehouse.transaction(async (session) => {
      await session.run(lockRegister(warehouse.db, key))
      const done: GoneRow[] = []
      const { history } = task.resource
      const ids = rows.map(({ id }) => id)
      const askedAt = rows.map((row) => row.askedAt).sort()[0] ?? ''
      // No request could have a later stamp than such a row: it would stay live for good.
      await session.run(
        lowerVoidStamps(warehouse.db, rootOf(task.resource), { tenantId: task.tenantId, ids, askedAt }),
      )
      // The ending version is read before its row is marked: nobody may replace it in between.
      if (history) await session.versions(rootOf(task.resource), task.tenantId, ids)
      for (const row of rows) if (await mark(warehouse, session, task, row)) done.push(row)
      if (isInterfered(task, readBack)) await checkMarked(warehouse, session, task, { rows, done })
      const entry = enterRows(warehouse.db, key, { came: 0, went: done.length })
      if (entry) await session.run(entry)
      return done
    })
    marked.push(...part)
  }
  return marked
}

async function mark(
  { db, dialect }: Warehouse,
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

const isInterfered = ({ resource }: CursorTask, readBack: ReadonlySet<string>): boolean =>
  [rootOf(resource), ...resource.derived.map(({ table }) => table)].some(({ name }) => readBack.has(name))

/** Reads back the rows of tables that something interferes with: a live row whose record is gone must not go unnoticed. */
export async function checkMarked(
  { db, where }: Pick<Warehouse, 'db' | 'where'>,
  session: Session,
  { resource, tenantId }: CursorTask,
  { rows, done }: { readonly rows: readonly GoneRow[]; readonly done: readonly GoneRow[] },
): Promise<void> {
  const root = rootOf(resource)
  const ids = rows.map(({ id }) => id)
  const stored = await session.versions(root, tenantId, ids)
  const kept = rows.filter((row) => {
    const found = stored.get(row.id)
    if (done.includes(row)) return found?.deletedAt !== row.askedAt
    return found?.deletedAt === null && found.updatedAt === row.updatedAt && found.syncedAt < row.askedAt
  })
  if (kept.length > 0) throw notMarked(where, root.name, kept.length)
  for (const { table } of resource.derived) {
    const live = db
      .selectFrom(rootTable(table))
      .select((eb) => eb.fn.countAll<Int64>().as('n'))
      .where('tenant_id', '=', tenantId)
      .where(sql.ref<Int64>(table.owner ?? ''), 'in', done.length > 0 ? done.map(({ id }) => id) : [0])
      .where('_deleted_at', 'is', null)
    const [counted] = (await session.run(live.compile())).rows
    if (Number(counted?.n ?? 0) > 0) throw notMarked(where, table.name, Number(counted?.n))
  }
}

import type { Int64 } from '../../../schema/resource.js'
import type { Table } from '../../model/tables.js'
import { rootTable } from '../../warehouse/database.js'
import type { Session } from '../../warehouse/dialect.js'
import { enterRows, lockRegister } from '../../warehouse/register/register.js'
import type { RunContext } from '../run/context.js'

/** A row whose record the source no longer has, and when it was asked. */
export interface GoneRow {
  readonly id: Int64
  /** The version of the row: another one has come since, if it is not this. */
  readonly updatedAt: string
  /** Stamp of the request: only what is asked for later can bring the record back. */
  readonly askedAt: string
}

interface TombstoneTable {
  readonly tenantId: Int64
  readonly root: Table
}

const atOnce = 200

/**
 * Marks rows as deleted, and forgets what is in quarantine for them. A row that a later request has brought stays as it
 * is. Returns those that were marked.
 */
export async function markDeleted(
  { warehouse, fence }: Pick<RunContext, 'warehouse' | 'fence'>,
  place: TombstoneTable,
  gone: readonly GoneRow[],
): Promise<GoneRow[]> {
  const buried: GoneRow[] = []
  for (let i = 0; i < gone.length; i += atOnce) {
    const marked = await warehouse.transaction(async (session) => {
      const key = { tenantId: place.tenantId, resource: place.root.name }
      const register = await session.run(lockRegister(warehouse.db, key))
      const done: GoneRow[] = []
      for (const one of gone.slice(i, i + atOnce))
        if (await mark(warehouse.db, session, place, one)) done.push(one)
      const entry = enterRows(warehouse.db, key, register.rows[0], { went: done })
      if (entry) await session.run(entry)
      return done
    }, fence)
    buried.push(...marked)
  }
  return buried
}

async function mark(
  db: RunContext['warehouse']['db'],
  session: Session,
  { tenantId, root }: TombstoneTable,
  { id, updatedAt, askedAt }: GoneRow,
): Promise<boolean> {
  const tombstone = db
    .updateTable(rootTable(root))
    .set({ _deleted_at: askedAt, _synced_at: askedAt })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('updated_at', '=', updatedAt)
    .where('_deleted_at', 'is', null)
    .where('_synced_at', '<', askedAt)
  if ((await session.run(tombstone.compile())).affected === 0) return false
  const quarantined = db
    .deleteFrom('sync_quarantine')
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', root.name)
    .where('record_id', '=', String(id))
  await session.run(quarantined.compile())
  return true
}

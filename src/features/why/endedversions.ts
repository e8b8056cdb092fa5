import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** A version of a record that was seen replaced or deleted. */
export interface EndedVersion {
  readonly valid_from: string
  readonly seen_from: string
  readonly seen_to: string
  readonly ended_by: string
}

const mostVersions = 20

/** The last versions of a record that have ended, the newest first; none where none are kept. */
export async function endedVersions(
  warehouse: Warehouse,
  { history }: ResourceModel,
  tenantId: Int64,
  id: Int64 | null,
): Promise<EndedVersion[]> {
  if (!history || id === null || !(await warehouse.has(history.name))) return []
  return warehouse.read((db) =>
    db
      .selectFrom(rootTable(history))
      .select([
        sql<string>`_valid_from`.as('valid_from'),
        sql<string>`_seen_from`.as('seen_from'),
        sql<string>`_seen_to`.as('seen_to'),
        sql<string>`_ended_by`.as('ended_by'),
      ])
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id)
      .orderBy(sql`_seen_from`, 'desc')
      .limit(mostVersions)
      .execute(),
  )
}

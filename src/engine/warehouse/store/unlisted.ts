/**
 * Records that the source shows by their id but no longer in their list, such as archived ones. Their rows stay live,
 * with `_unlisted_at` set. Nothing else keeps track of them, so comparisons, views and these statements can't disagree.
 */
import { type CompiledQuery, type SqlBool, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { inParts } from '../../base/parts.js'
import type { Table } from '../../model/table.js'
import { type Db, rootTable } from '../database.js'
import type { Batch, Version } from './versionbatch.js'

/** A resource's own table, and the tables whose rows are computed from its records. */
interface UnlistedTables {
  readonly root: Table
  readonly derived: readonly Table[]
}

/** The version of a row that its list should show; null if there is none. */
export const listedVersion = (stored: Version | undefined): string | null =>
  stored?.deletedAt === null && stored.unlistedAt === null ? stored.updatedAt : null

/** Whether the list counts as showing a record after a response was stored; `stored`: its version before. */
export function isListedAfter(
  stored: Version | undefined,
  { page, startedAt }: { readonly page: number | undefined; readonly startedAt: string },
): boolean {
  if (stored === undefined || stored.deletedAt !== null || stored.unlistedAt === null) return true
  return page !== undefined && stored.unlistedAt < startedAt
}

/** When records were found to have left their list. */
interface LeftAt {
  /** The time, for people and for telling days apart. */
  readonly since: string
  /** The stamp of a request: stamps may be ahead of the time, after a clock was set back. */
  readonly askedAt: string
}

/** Enters since when the list has lacked the live rows; `since` null: it shows them again. */
function enterUnlisted(
  db: Db,
  { root, derived }: UnlistedTables,
  tenantId: Int64,
  ids: readonly Int64[],
  { since, askedAt }: { readonly since: string | null; readonly askedAt: string },
): CompiledQuery[] {
  // A row that was stored meanwhile is left to the next comparison.
  const isDue =
    since === null
      ? sql<SqlBool>`_unlisted_at is not null`
      : sql<SqlBool>`_unlisted_at is null and _synced_at < ${askedAt}`
  return [root, ...derived].map((table) =>
    db
      .updateTable(rootTable(table))
      .set({
        _unlisted_at: since,
        _synced_at: sql<string>`case when _synced_at < ${askedAt} then ${askedAt} else _synced_at end`,
      })
      .where('tenant_id', '=', tenantId)
      .where(sql<Int64>`${sql.ref(table.owner ?? 'id')}`, 'in', [...ids])
      .where('_deleted_at', 'is', null)
      .where(isDue)
      .compile(),
  )
}

/** Marks rows whose records have left the list. A row that is marked already keeps its mark. */
export const markUnlisted = (
  db: Db,
  tables: UnlistedTables,
  tenantId: Int64,
  ids: readonly Int64[],
  left: LeftAt,
): CompiledQuery[] => [...inParts(ids)].flatMap((some) => enterUnlisted(db, tables, tenantId, some, left))

/**
 * The statements that end the marks of records that a page of their list shows. A record that was requested by its id
 * keeps its mark, and so does one that left the list after the page was requested.
 */
export function clearUnlisted(
  db: Db,
  tables: UnlistedTables,
  { isById, page, syncedAt, tenantId }: Batch,
  previous: ReadonlyMap<Int64, Version>,
): CompiledQuery[] {
  const response = { page: isById ? undefined : 1, startedAt: syncedAt }
  const shown = page.records
    .map(({ id }) => id)
    .filter((id) => {
      const stored = previous.get(id)
      return stored !== undefined && stored.unlistedAt !== null && isListedAfter(stored, response)
    })
  return shown.length > 0
    ? enterUnlisted(db, tables, tenantId, shown, { since: null, askedAt: syncedAt })
    : []
}

/* Which of the announced records a walk has not left in the warehouse as events announced them. */
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import { toMicros } from '../../engine/base/timestamp.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { type EventRow, isOlder } from './waiting.js'

type Cursor = CursorRun

/** How far ahead of the source's clock an announced version may be. Beyond that, it means nothing. */
const aheadMicros = 60_000_000n

/** The record in the warehouse. */
interface Kept {
  readonly updatedAt: string
  readonly isDeleted: boolean
}

/** The events whose record the walk has not left at the announced version or a newer one. */
export async function unseenOf(cursor: Cursor, announced: readonly EventRow[]): Promise<EventRow[]> {
  const witnesses = announced.filter((row) => isWitness(cursor, row))
  if (witnesses.length === 0) return []
  const ids = [...new Set(witnesses.map(({ record_id: id }) => id))]
  const kept = await keptOf(cursor, ids)
  const held = await inQuarantine(cursor, ids)
  return witnesses.filter(({ record_id: id, version }) => {
    const row = kept.get(id)
    if (held.has(id) || row?.isDeleted) return false
    return row === undefined || isOlder(row.updatedAt, version ?? '')
  })
}

function isWitness({ source, run }: Cursor, { version }: EventRow): boolean {
  if (version === null) return false
  const { serverTime } = source.stats()
  const now = serverTime === undefined ? run.clock.nowMicros() : BigInt(Math.ceil(serverTime)) * 1000n
  return toMicros(version) <= now + aheadMicros
}

async function keptOf(
  { warehouse, root, tenantId }: Cursor,
  ids: readonly Int64[],
): Promise<Map<Int64, Kept>> {
  const found = new Map<Int64, Kept>()
  for (const part of inParts(ids)) {
    const rows = await warehouse.read((db) =>
      db
        .selectFrom(rootTable(root))
        .select(['id', 'updated_at', '_deleted_at'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', part)
        .execute(),
    )
    for (const { id, updated_at, _deleted_at } of rows)
      found.set(id, { updatedAt: updated_at, isDeleted: _deleted_at !== null })
  }
  return found
}

/** Records that could not be stored completely. */
async function inQuarantine({ warehouse, key }: Cursor, ids: readonly Int64[]): Promise<ReadonlySet<Int64>> {
  const byText = new Map(ids.map((id) => [String(id), id]))
  const found = new Set<Int64>()
  for (const part of inParts([...byText.keys()])) {
    const rows = await warehouse.read((db) =>
      db
        .selectFrom('sync_quarantine')
        .select('record_id')
        .where('tenant_id', '=', key.tenantId)
        .where('resource', '=', key.resource)
        .where('path', '=', '')
        .where('record_id', 'in', part)
        .execute(),
    )
    for (const { record_id } of rows) found.add(byText.get(record_id) ?? 0)
  }
  return found
}

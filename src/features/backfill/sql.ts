import type { CompiledQuery } from 'kysely'
import { type CursorKey, cursorColumns, type Reader } from '../../engine/warehouse/cursors.js'
import type { Db } from '../../engine/warehouse/database.js'
import { withBackfills } from './tables.js'

/** The backfill of one cursor over one range, from an instant up to, but not including, another. */
export interface BackfillKey extends CursorKey {
  readonly from: string
  readonly to: string
}

const columnsOf = (key: BackfillKey) => ({ ...cursorColumns(key), from_at: key.from, to_at: key.to })

/** How far an interrupted backfill got: every newer record of the range is stored. */
export async function readBoundary(warehouse: Reader, key: BackfillKey): Promise<string | null> {
  const row = await warehouse.read((db) =>
    withBackfills(db)
      .selectFrom('sync_backfills')
      .select('boundary')
      .where((eb) => eb.and(columnsOf(key)))
      .executeTakeFirst(),
  )
  return row?.boundary ?? null
}

export function moveBoundary(
  db: Db,
  key: BackfillKey,
  change: { readonly boundary: string; readonly run_id: string },
): CompiledQuery {
  return withBackfills(db)
    .insertInto('sync_backfills')
    .values({ ...columnsOf(key), ...change })
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'from_at', 'to_at']).doUpdateSet(change))
    .compile()
}

export const forgetBoundary = (db: Db, key: BackfillKey): CompiledQuery =>
  withBackfills(db)
    .deleteFrom('sync_backfills')
    .where((eb) => eb.and(columnsOf(key)))
    .compile()

import type { CompiledQuery } from 'kysely'
import { type CursorKey, cursorColumns, type Reader } from './cursors.js'
import type { Dialect } from './dialect.js'

/** The ids that one page of a walk under way has shown: encoded, since the walk alone reads them. */
export interface WalkPart {
  readonly number: number
  /** Ids that no page before had shown. */
  readonly ids: string
  /** Ids that entered the list while it was read. */
  readonly entered: string
}

/** The parts up to that number. A later part belongs to a commit whose progress was not kept. */
export function readWalkParts(
  warehouse: Reader,
  key: CursorKey,
  upTo: number,
): Promise<{ ids: string | null; entered: string | null }[]> {
  return warehouse.read((db) =>
    db
      .selectFrom('sync_walk_parts')
      .select(['ids', 'entered'])
      .where((eb) => eb.and(cursorColumns(key)))
      .where('part', '<=', upTo)
      .execute(),
  )
}

export function storeWalkPart(db: Dialect['db'], key: CursorKey, part: WalkPart): CompiledQuery {
  const row = { part: part.number, ids: part.ids, entered: part.entered }
  return db
    .insertInto('sync_walk_parts')
    .values({ ...cursorColumns(key), ...row })
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'part']).doUpdateSet(row))
    .compile()
}

export const forgetWalkParts = (db: Dialect['db'], key: CursorKey): CompiledQuery =>
  db
    .deleteFrom('sync_walk_parts')
    .where((eb) => eb.and(cursorColumns(key)))
    .compile()

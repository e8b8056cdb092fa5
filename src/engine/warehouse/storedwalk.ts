import type { CompiledQuery } from 'kysely'
import { type CursorKey, cursorColumns, type Reader } from './cursors.js'
import type { Db } from './database.js'

/**
 * Where the progress of a walk lies in `sync_cursors`. A list that has to be read whole once has two walks: the one that
 * does so may take several runs, and what is new must come meanwhile.
 */
export type WalkSlot = 'walk' | 'refill_walk'

/** A cursor's walk. */
export interface WalkKey extends CursorKey {
  readonly slot: WalkSlot
}

const columnsOf = (key: WalkKey) => ({ ...cursorColumns(key), fills: Number(key.slot === 'refill_walk') })

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
  key: WalkKey,
  upTo: number,
): Promise<{ ids: string | null; entered: string | null }[]> {
  return warehouse.read((db) =>
    db
      .selectFrom('sync_walk_parts')
      .select(['ids', 'entered'])
      .where((eb) => eb.and(columnsOf(key)))
      .where('part', '<=', upTo)
      .execute(),
  )
}

export function storeWalkPart(db: Db, key: WalkKey, part: WalkPart): CompiledQuery {
  const row = { part: part.number, ids: part.ids, entered: part.entered }
  return db
    .insertInto('sync_walk_parts')
    .values({ ...columnsOf(key), ...row })
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'fills', 'part']).doUpdateSet(row))
    .compile()
}

export const forgetWalkParts = (db: Db, key: WalkKey): CompiledQuery =>
  db
    .deleteFrom('sync_walk_parts')
    .where((eb) => eb.and(columnsOf(key)))
    .compile()

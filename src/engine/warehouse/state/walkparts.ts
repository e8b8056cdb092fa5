/* The ids that an unfinished walk has seen, in sync_walk_parts. */
import type { CompiledQuery } from 'kysely'
import { compiledOnce, type Db, type Reader } from '../database.js'
import { type CursorKey, cursorColumns } from './cursors.js'

interface WalkKey extends CursorKey {
  /**
   * Where in `sync_cursors` the progress of a walk is kept. A list that has to be read whole once has two walks, because
   * that reading may take several runs, and what is new must arrive meanwhile.
   */
  readonly slot: 'walk' | 'refill_walk'
}

const columnsOf = (key: WalkKey) => ({ ...cursorColumns(key), fills: Number(key.slot === 'refill_walk') })

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

/** The ids that one page of a current walk showed. They are encoded, since only the walk reads them. */
export function storeWalkPart(
  db: Db,
  key: WalkKey,
  part: {
    readonly number: number
    /** Ids that no earlier page had shown. */
    readonly ids: string
    /** Ids that entered the list while it was read. */
    readonly entered: string
  },
): CompiledQuery {
  const row = { part: part.number, ids: part.ids, entered: part.entered }
  return db
    .insertInto('sync_walk_parts')
    .values({ ...columnsOf(key), ...row })
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'fills', 'part']).doUpdateSet(row))
    .compile()
}

export const forgetWalkParts = (db: Db, key: WalkKey): CompiledQuery =>
  compiledOnce(db, 'forgetWalkParts', columnsOf(key), (columns) =>
    db.deleteFrom('sync_walk_parts').where((eb) => eb.and(columns)),
  )

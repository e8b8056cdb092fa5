import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { RangeOutcome } from '../../engine/list/types.js'
import type { TimeRange } from '../../engine/run/runreport.js'
import { type Db, type Reader, readJson } from '../../engine/warehouse/database.js'
import { type CursorKey, cursorColumns } from '../../engine/warehouse/state/cursors.js'
import { withBackfills } from './tables.js'

/** The backfill of one cursor over one range, from an instant up to, but not including, another. */
export interface BackfillKey extends CursorKey, TimeRange {}

/** What a range that was read to its end has shown. Its verdict is derived from the evidence again. */
type RangeRead = Pick<RangeOutcome, 'evidence' | 'seen' | 'expected'>

/** Who made progress, and when. */
interface Made {
  readonly run_id: string
  readonly progress_at: string
}

const rangeColumns = ({ from, to }: TimeRange) => ({ from_at: from, to_at: to })

const columnsOf = (key: BackfillKey) => ({ ...cursorColumns(key), ...rangeColumns(key) })

/** How far an unfinished backfill got. */
export async function readProgress(
  warehouse: Reader,
  key: BackfillKey,
): Promise<{
  /** Every newer record of the range is stored. */
  readonly boundary: string | null
  /** null: the range wasn't read to its end. */
  readonly read: RangeRead | null
  readonly at: string | null
}> {
  const row = await warehouse.read((db) =>
    withBackfills(db)
      .selectFrom('sync_backfills')
      .select(['boundary', 'outcome', 'progress_at as at'])
      .where((eb) => eb.and(columnsOf(key)))
      .executeTakeFirst(),
  )
  return {
    boundary: row?.boundary ?? null,
    read: readJson(row?.outcome ?? null) as RangeRead | null,
    at: row?.at ?? null,
  }
}

function store(
  db: Db,
  key: BackfillKey,
  change: Made & { readonly boundary: string | null; readonly outcome: string | null },
): CompiledQuery {
  return withBackfills(db)
    .insertInto('sync_backfills')
    .values({ ...columnsOf(key), ...change })
    .onConflict((c) => c.columns(['tenant_id', 'resource', 'from_at', 'to_at']).doUpdateSet(change))
    .compile()
}

export const moveBoundary = (db: Db, key: BackfillKey, boundary: string, made: Made): CompiledQuery =>
  store(db, key, { ...made, boundary, outcome: null })

/** Keeps a range that was read to its end from being read again before the other cursors are done. */
export const markRead = (
  db: Db,
  key: BackfillKey,
  { evidence, seen, expected }: RangeRead,
  made: Made,
): CompiledQuery =>
  store(db, key, { ...made, boundary: null, outcome: JSON.stringify({ evidence, seen, expected }) })

export const forgetProgress = (db: Db, key: BackfillKey): CompiledQuery =>
  withBackfills(db)
    .deleteFrom('sync_backfills')
    .where((eb) => eb.and(columnsOf(key)))
    .compile()

/** Forgets a tenant's progress in a range. */
export const forgetRange = (
  db: Db,
  range: TimeRange,
  tenantId: Int64,
  resources: readonly string[],
): CompiledQuery =>
  withBackfills(db)
    .deleteFrom('sync_backfills')
    .where((eb) => eb.and(rangeColumns(range)))
    .where('tenant_id', '=', tenantId)
    .where('resource', 'in', resources)
    .compile()

/**
 * Forgets ranges in which no cursor has made progress between the two times. A time after `to` was set by a wrong
 * clock. What versions without `progress_at` left is kept.
 */
export const forgetAbandoned = (db: Db, { from, to }: TimeRange): CompiledQuery =>
  withBackfills(db)
    .deleteFrom('sync_backfills')
    .where('progress_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('sync_backfills as alive')
            .select('alive.tenant_id')
            .whereRef('alive.from_at', '=', 'sync_backfills.from_at')
            .whereRef('alive.to_at', '=', 'sync_backfills.to_at')
            .where('alive.progress_at', '>=', from)
            .where('alive.progress_at', '<=', to),
        ),
      ),
    )
    .compile()

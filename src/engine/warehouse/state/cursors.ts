import { type CompiledQuery, type Insertable, type SqlBool, sql, type Updateable } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Shard } from '../../base/shard.js'
import type { StateRows } from '../../model/state.js'
import { compiledOnce, type Db, readJson } from '../database.js'
import { isOfShard } from './shardsql.js'

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

/* The lists that have to be read whole once (layout.ts), and how far each reading has come. */

/** All columns, because the warehouse may be of an older program and lack some. */
export async function readRefills(db: Db): Promise<
  {
    readonly tenant_id: Int64
    readonly resource: string
    readonly reason: string
    /** Records that were read, and how many the list had then. null if the reading hasn't begun. */
    readonly read: number | null
    readonly of: number | null
  }[]
> {
  const rows = await db.selectFrom('sync_cursors').selectAll().where('refill', 'is not', null).execute()
  return rows.map(({ tenant_id, resource, refill, refill_walk }) => {
    const reached = readJson(refill_walk ?? null) as {
      readonly last: number
      /** Records still to be read. */
      readonly below: number
    } | null
    return {
      tenant_id,
      resource,
      reason: refill ?? '',
      read: reached && Math.max(0, reached.last - reached.below),
      of: reached?.last ?? null,
    }
  })
}

/** A cursor: one resource of one tenant. */
export interface CursorKey {
  readonly tenantId: Int64
  readonly resource: string
}

/** How far a cursor has come. */
export interface CursorState {
  readonly watermark: string | null
  /**
   * The watermark of the last planned walk, where the next one starts. null or absent in a warehouse in which no walk
   * has ended since the column was added.
   */
  readonly plannedWatermark?: string | null
  /** The newest stamp ahead of the source's clock that the last walk read. null if there was none. */
  readonly stampsAheadUntil?: string | null
  /** The source's clock when the last planned walk that was proven or repaired began. */
  readonly walkedAt?: string | null
  readonly completeThrough?: string | null
  /** The value of `completeThrough` before a late record set it back. Kept until it is reached again. */
  readonly completeThroughBefore?: string | null
  /** After the last run that worked on it, and why. */
  readonly status: string | null
  readonly reason: string | null
  /** End of the last walk that was complete. */
  readonly lastSuccessAt: string | null
  /** Start of the last reconcile that found or made the cursor equal to the source. */
  readonly deletesCheckedAt?: string | null
  /** Progress of an interrupted walk; only the walk knows its structure. */
  readonly walk: unknown
  /** Anomalies of the list; only the walk knows their structure. */
  readonly remembered?: unknown
  /** Why the list has to be read whole (src/engine/warehouse/layout/layout.ts). null if no refill is needed. */
  readonly refill: string | null
  /** Progress of the walk that does so, if it was interrupted. */
  readonly refillWalk?: unknown
  /** How often its polls find something. Absent if no poll has ended. */
  readonly polls?: Polls
  /** What is known about rows that two live records show (sharedrows.ts). null or absent if there are none. */
  readonly shared?: unknown
  /** When the source was last found not to answer by id (run/byid.ts). */
  readonly byIdRefusedAt?: string | null
}

/** What the polls of a cursor have found, as run/polls.ts counts it. */
export interface Polls {
  readonly polledAt: string | null
  readonly news: number
  readonly unannounced: number
  readonly hours: number
  /** When the last poll that found something began, and how many complete ones have found nothing since. */
  readonly quietSince?: string | null
  readonly quietPolls?: number
}

/** A cursor that no run has worked on. */
export const newCursor: CursorState = {
  watermark: null,
  status: null,
  reason: null,
  lastSuccessAt: null,
  walk: null,
  refill: null,
}

/** A cursor's name in the columns of the state tables and in the fields of the log. */
export const cursorColumns = ({ tenantId, resource }: CursorKey) => ({ tenant_id: tenantId, resource })

export const cursorName = (key: CursorKey): string => `${key.tenantId} ${key.resource}`

/** The part of a warehouse that reads, and repeats a read while the database is away. */
export interface Reader {
  read<T>(work: (db: Db) => Promise<T>): Promise<T>
}

/** Rows of one read: with all rows of many thousand lists at once, a process would take twice the memory. */
const rowsAtOnce = 2000

/** The state of every cursor, or of those of a shard, by `cursorName`. */
export async function readCursors(warehouse: Reader, shard?: Shard): Promise<Map<string, CursorState>> {
  const states = new Map<string, CursorState>()
  const read = (after?: StateRows['sync_cursors']) =>
    warehouse.read((db) => {
      // All columns, because commands that only read may meet warehouses of an older program, which lack some.
      let rows = db
        .selectFrom('sync_cursors')
        .selectAll()
        .orderBy('tenant_id')
        .orderBy('resource')
        .limit(rowsAtOnce)
      if (shard) rows = rows.where(isOfShard(sql.ref('tenant_id'), shard))
      if (after)
        rows = rows.where(sql<SqlBool>`(tenant_id, resource) > (${after.tenant_id}, ${after.resource})`)
      return rows.execute()
    })
  for (let rows = await read(); ; rows = await read(rows.at(-1))) {
    for (const row of rows)
      states.set(cursorName({ tenantId: row.tenant_id, resource: row.resource }), stateOfRow(row))
    if (rows.length < rowsAtOnce) return states
  }
}

/** Cursors per statement. */
const cursorsAtOnce = 500

/** The states of these cursors of one resource, by `cursorName`. Cursors without a state are left out. */
export async function readCursorsOf(
  warehouse: Reader,
  resource: string,
  tenants: readonly Int64[],
): Promise<Map<string, CursorState>> {
  const states = new Map<string, CursorState>()
  for (let i = 0; i < tenants.length; i += cursorsAtOnce) {
    const part = tenants.slice(i, i + cursorsAtOnce)
    const rows = await warehouse.read((db) =>
      db
        .selectFrom('sync_cursors')
        .selectAll()
        .where('resource', '=', resource)
        .where('tenant_id', 'in', part)
        .execute(),
    )
    for (const row of rows) states.set(cursorName({ tenantId: row.tenant_id, resource }), stateOfRow(row))
  }
  return states
}

/** The state of one cursor. undefined if no run has worked on it. */
export async function readCursor(warehouse: Reader, key: CursorKey): Promise<CursorState | undefined> {
  const row = await warehouse.read((db) =>
    db
      .selectFrom('sync_cursors')
      .selectAll()
      .where((eb) => eb.and(cursorColumns(key)))
      .executeTakeFirst(),
  )
  return row && stateOfRow(row)
}

const stateOfRow = (row: StateRows['sync_cursors']): CursorState => ({
  watermark: row.watermark,
  plannedWatermark: row.planned_watermark ?? null,
  stampsAheadUntil: row.stamps_ahead_until ?? null,
  walkedAt: row.walked_at ?? null,
  completeThrough: row.complete_through ?? null,
  completeThroughBefore: row.complete_through_before ?? null,
  status: row.status,
  reason: row.reason ?? null,
  lastSuccessAt: row.last_success_at,
  deletesCheckedAt: row.deletes_checked_at ?? null,
  walk: jsonOf(row.walk),
  remembered: jsonOf(row.remembered ?? null),
  polls: pollsOfRow(row),
  refill: row.refill ?? null,
  refillWalk: jsonOf(row.refill_walk ?? null),
  shared: jsonOf(row.shared_services ?? null),
  byIdRefusedAt: row.by_id_refused_at ?? null,
})

/** Postgres returns numbers as text. */
const pollsOfRow = (row: StateRows['sync_cursors']): Polls => ({
  polledAt: row.polled_at ?? null,
  news: Number(row.news ?? 0),
  unannounced: Number(row.news_unannounced ?? 0),
  hours: Number(row.news_hours ?? 0),
  quietSince: row.quiet_since ?? null,
  quietPolls: Number(row.quiet_polls ?? 0),
})

const jsonOf = (value: unknown): unknown => (value === null || value === undefined ? null : readJson(value))

/** The list was read whole, so the requested refill is done. A refill requested since then stays. */
export const endRefill = (db: Db, key: CursorKey, demand: string): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set({ refill: null })
    .where((eb) => eb.and({ ...cursorColumns(key), refill: demand }))
    .compile()

type JsonColumn = 'walk' | 'refill_walk' | 'remembered'

/** The statement that moves a cursor. It runs in the transaction of the rows that justify the move. */
export function moveCursor(
  db: Db,
  key: CursorKey,
  {
    walk,
    refill_walk,
    remembered,
    ...rest
  }: Omit<Updateable<StateRows['sync_cursors']>, 'tenant_id' | 'resource' | JsonColumn> & {
    readonly [name in JsonColumn]?: unknown
  },
): CompiledQuery {
  const columns: Record<string, unknown> = rest
  const json = { walk, refill_walk, remembered }
  for (const [name, value] of Object.entries(json))
    if (value !== undefined) columns[name] = value === null ? null : JSON.stringify(value)
  const all = { ...cursorColumns(key), ...columns }
  return compiledOnce(db, `moveCursor ${Object.keys(columns)}`, all, (row) => {
    const { tenant_id: _, resource: __, ...moved } = row
    return db
      .insertInto('sync_cursors')
      .values(row as Insertable<StateRows['sync_cursors']>)
      .onConflict((c) => c.columns(['tenant_id', 'resource']).doUpdateSet(moved))
  })
}

/** Takes back what was claimed to be complete after that moment, because records turned out to be late. */
export const setBack = (db: Db, key: CursorKey, through: string): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set((eb) => ({
      complete_through_before: eb.fn.coalesce('complete_through_before', 'complete_through'),
      complete_through: through,
    }))
    .where((eb) => eb.and(cursorColumns(key)))
    .where('complete_through', '>', through)
    .compile()

/**
 * Requests a check of shared rows (sharedrows.ts). Commits with rows that change, so a run that is killed before it has
 * checked leaves that to the next one.
 */
export const demandLook = (db: Db, key: CursorKey): CompiledQuery =>
  compiledOnce(db, 'demandLook', cursorColumns(key), (columns) =>
    db
      .updateTable('sync_cursors')
      .set({ shared_services: '{}' })
      .where((eb) => eb.and(columns))
      .where('shared_services', 'is', null),
  )

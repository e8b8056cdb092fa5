/* What is known about each cursor, one list of one tenant. No other file's statements read or write sync_cursors. */
import {
  type CompiledQuery,
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { inParts } from '../../base/parts.js'
import type { Shard } from '../../base/shard.js'
import { type StateRows, stateTables } from '../../model/state.js'
import { compiledOnce, type Database, type Db, type Reader } from '../database.js'
import type { Session } from '../transaction.js'
import { isOfShard } from './shardsql.js'
import { storedRow } from './storedrow.js'

/** A cursor: one resource of one tenant. */
export interface CursorKey {
  readonly tenantId: Int64
  readonly resource: string
}

/** A cursor's name in the columns of the state tables and in the fields of the log. */
export const cursorColumns = ({ tenantId, resource }: CursorKey) => ({ tenant_id: tenantId, resource })

export const cursorName = (key: CursorKey): string => `${key.tenantId} ${key.resource}`

/** `cursorName` of a row. */
export const rowName = (row: { readonly tenant_id: Int64; readonly resource: string }): string =>
  `${row.tenant_id} ${row.resource}`

/** How far a cursor has come: its row, whose columns model/state.ts explains. */
export type Cursor = Readonly<StateRows['sync_cursors']>

/** What can be asked about many cursors: a walk under way is long, and there may be thousands. */
interface ListedCursor extends Cursor {
  readonly is_walking: boolean
  /** As its register says; null if that is unknown. */
  readonly live_rows: Int64 | null
}

type CursorColumn = keyof ListedCursor
type Conditions = ExpressionBuilder<Database, 'sync_cursors'>

/** These columns of a cursor, and its key. */
export type CursorPart<K extends CursorColumn> = Pick<ListedCursor, K | 'tenant_id' | 'resource'>

const stored = Object.keys(stateTables.sync_cursors.fields) as (keyof Cursor)[]
const jsonColumns: readonly string[] = stored.filter(
  (name) => stateTables.sync_cursors.fields[name].kind === 'json',
)

const rowOf = <K extends CursorColumn>(columns: readonly K[], found: object): CursorPart<K> =>
  storedRow(stateTables.sync_cursors, found, columns)

/** A cursor that no run has worked on. */
export const newCursor = (key: CursorKey): Cursor => rowOf(stored, cursorColumns(key))

/* Reading. */

/** The cursors that the configuration, or a choice among them, wants synced. */
export interface WantedCursors {
  readonly resources: readonly string[]
  /** null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  /** Tenants that are not walked. */
  readonly exceptTenants: readonly Int64[]
}

/** All cursors, but for what is said. */
interface CursorFilter {
  readonly tenants?: readonly Int64[] | undefined
  readonly resources?: readonly string[] | undefined
  readonly shard?: Shard | undefined
  /** Those of tenants that are granted and wanted. */
  readonly wanted?: WantedCursors | undefined
  readonly where?: ((eb: Conditions) => Expression<SqlBool>) | undefined
}

/** SQL has no empty lists. */
const listed = <T>(values: readonly T[], none: T): T[] => [none, ...values]

function chosen(db: Db, { tenants, resources, shard, wanted, where }: CursorFilter) {
  const named = tenants ?? wanted?.tenants
  let query = db.selectFrom('sync_cursors')
  if (named) query = query.where('tenant_id', 'in', listed(named, 0))
  if (resources) query = query.where('resource', 'in', listed(resources, ''))
  if (shard) query = query.where(isOfShard(sql.ref('tenant_id'), shard))
  if (where) query = query.where(where)
  if (!wanted) return query
  if (wanted.exceptTenants.length > 0) query = query.where('tenant_id', 'not in', [...wanted.exceptTenants])
  // No list of all tenants: SQLite would look up each of them again for every part that is read in key order.
  return query
    .where('resource', 'in', listed(wanted.resources, ''))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('tenants as t')
          .select('t.tenant_id')
          .whereRef('t.tenant_id', '=', 'sync_cursors.tenant_id')
          .where('t.revoked_at', 'is', null),
      ),
    )
}

/** A statement for these columns, for a transaction or as a part of another statement. */
export const cursorQuery = <K extends CursorColumn>(
  db: Db,
  columns: readonly K[],
  filter: CursorFilter = {},
) =>
  chosen(db, filter)
    .select((eb) => ['tenant_id', 'resource', ...columns.map((name) => selected(eb, name))])
    .$castTo<CursorPart<K>>()

function selected(eb: Conditions, name: CursorColumn) {
  if (name === 'is_walking') return eb('walk', 'is not', null).as(name)
  if (name !== 'live_rows') return eb.ref(name).as(name)
  return eb
    .selectFrom('sync_registers as r')
    .select('r.live_rows')
    .whereRef('r.tenant_id', '=', 'sync_cursors.tenant_id')
    .whereRef('r.resource', '=', 'sync_cursors.resource')
    .as(name)
}

/** Rows of one read: with all rows of many thousand lists at once, a process would take twice the memory. */
const rowsAtOnce = 2000
const tenantsAtOnce = 500

/** The cursors in key order, a few thousand at a time. */
async function* inKeyOrder<R extends CursorPart<never>>(
  filter: CursorFilter,
  read: (part: CursorFilter, after: R | undefined) => Promise<R[]>,
): AsyncGenerator<R[]> {
  const named = filter.tenants ?? filter.wanted?.tenants
  for (const some of named ? inParts(named, tenantsAtOnce) : [undefined])
    for (let last: R | undefined; ; ) {
      const rows: R[] = await read({ ...filter, tenants: some }, last)
      yield rows
      last = rows.at(-1)
      if (rows.length < rowsAtOnce) break
    }
}

/** The next of them. */
const next = <Q extends SelectQueryBuilder<Database, 'sync_cursors', CursorPart<never>>>(
  query: Q,
  after: CursorPart<never> | undefined,
): Q =>
  query
    .$if(after !== undefined, (all) =>
      all.where(sql<SqlBool>`(tenant_id, resource) > (${after?.tenant_id}, ${after?.resource})`),
    )
    .orderBy('tenant_id')
    .orderBy('resource')
    .limit(rowsAtOnce) as Q

/** These columns of the cursors, a few thousand cursors at a time. */
export async function* cursorParts<K extends CursorColumn>(
  reader: Reader,
  columns: readonly K[],
  filter: CursorFilter = {},
): AsyncGenerator<readonly CursorPart<K>[]> {
  const one = await reader.read((db) => db.selectFrom('sync_cursors').selectAll().limit(1).executeTakeFirst())
  if (!one) return
  // Commands that only read may meet a warehouse of an older version, which lacks some.
  const there = columns.filter((name) => name in one || !stored.includes(name as keyof Cursor))
  yield* inKeyOrder<CursorPart<K>>(filter, async (part, after) => {
    const rows = await reader.read((db) => next(cursorQuery(db, there, part), after).execute())
    return rows.map((row) => rowOf(columns, row))
  })
}

/** The same, all of them at once. */
export async function listCursors<K extends CursorColumn>(
  reader: Reader,
  columns: readonly K[],
  filter: CursorFilter = {},
): Promise<CursorPart<K>[]> {
  const all: CursorPart<K>[] = []
  for await (const rows of cursorParts(reader, columns, filter)) all.push(...rows)
  return all
}

/** The same, within a transaction. */
export async function cursorsWithin<K extends CursorColumn>(
  session: Pick<Session, 'run'>,
  db: Db,
  columns: readonly K[],
  filter: CursorFilter = {},
): Promise<CursorPart<K>[]> {
  const { rows } = await session.run(cursorQuery(db, columns, filter).compile())
  return rows.map((row) => rowOf(columns, row))
}

export const isAnyCursor = async (reader: Reader, filter: CursorFilter = {}): Promise<boolean> =>
  (await reader.read((db) => chosen(db, filter).select('resource').limit(1).execute())).length > 0

/** The cursors with their walks, by `cursorName`. */
export async function readCursors(reader: Reader, filter: CursorFilter = {}): Promise<Map<string, Cursor>> {
  const found = new Map<string, Cursor>()
  const parts = inKeyOrder<Cursor>(filter, (part, after) =>
    reader.read((db) => next(chosen(db, part).selectAll(), after).execute()),
  )
  for await (const rows of parts) for (const row of rows) found.set(rowName(row), rowOf(stored, row))
  return found
}

/** One cursor with its walks. undefined if no run has worked on it. */
export async function readCursor(reader: Reader, key: CursorKey): Promise<Cursor | undefined> {
  const row = await reader.read((db) =>
    db
      .selectFrom('sync_cursors')
      .selectAll()
      .where((eb) => eb.and(cursorColumns(key)))
      .executeTakeFirst(),
  )
  return row && rowOf(stored, row)
}

/* Sums over all cursors, by the database: a warehouse may have hundreds of thousands. */

/** By resource: when any of its lists was last read to its end; null if none ever was. */
export const lastSuccesses = (db: Db) =>
  db
    .selectFrom('sync_cursors')
    .groupBy('resource')
    .select('resource')
    .select((eb) => eb.fn.max<string | null>('last_success_at').as('at'))

/** By resource, and by whether lists were read since a moment: what polls have found, and lists the source doesn't offer. */
export const pollTotals = (reader: Reader, since: string | undefined) =>
  reader.read((db) =>
    db
      .selectFrom('sync_cursors')
      .select((eb) => [
        'resource',
        eb
          .case()
          .when(eb.fn.coalesce('polled_at', 'last_success_at'), '>=', since ?? null)
          .then(1)
          .else(0)
          .end()
          .as('is_since'),
        eb.fn.sum<number | null>('news').as('news'),
        eb.fn.sum<number | null>('news_unannounced').as('news_unannounced'),
        eb.fn.sum<number | null>('news_hours').as('news_hours'),
        sql<number>`sum(case when status = 'unavailable' then 1 else 0 end)`.as('unavailable'),
      ])
      .groupBy(['resource', 'is_since'])
      .execute(),
  )

/** Earlier, a cursor was last read, or its deletions checked, too long ago. A wrong clock made a time from `ahead` on. */
export interface Overdue {
  readonly read: string
  readonly checked: string
  readonly ahead: string
}

const isOverdue = (eb: Conditions, { read, checked, ahead }: Overdue) => ({
  read: eb.or([eb('last_success_at', '<', read), eb('last_success_at', '>=', ahead)]),
  checked: eb.or([eb('deletes_checked_at', '<', checked), eb('deletes_checked_at', '>=', ahead)]),
})

/** Whether a cursor may need attention: after most runs a few do. */
export const mayBeTroubled =
  (limits: Overdue) =>
  (eb: Conditions): Expression<SqlBool> => {
    const { read, checked } = isOverdue(eb, limits)
    return eb.or([eb('status', '=', 'failed'), eb('completeness', '=', 'unproven'), read, checked])
  }

/** Wanted cursors in groups that are judged alike, with the earliest times of each. */
export const alikeCursors = (db: Db, wanted: WantedCursors, limits: Overdue) =>
  chosen(db, { wanted })
    .select((eb) => {
      const overdue = isOverdue(eb, limits)
      const group = (column: 'last_success_at' | 'deletes_checked_at', isOld: Expression<SqlBool>) =>
        eb.case().when(column, 'is', null).then(eb.lit(0)).when(isOld).then(eb.lit(1)).else(eb.lit(2)).end()
      const setBackFrom = eb
        .case()
        .when('complete_through', '<', limits.read)
        .then(eb.ref('complete_through_before'))
        .end()
      return [
        'resource',
        'status',
        'completeness',
        group('last_success_at', overdue.read).as('read'),
        group('deletes_checked_at', overdue.checked).as('checked'),
        eb(setBackFrom, 'is not', null).as('is_set_back'),
        eb.fn.min<string | null>('complete_through').as('complete_through'),
        eb.fn.min<string | null>(setBackFrom).as('complete_through_before'),
        eb.fn.countAll<Int64>().as('amount'),
        eb.fn.min<string | null>('watermark').as('watermark'),
        eb.fn.min<string | null>('last_success_at').as('last_success_at'),
        eb.fn.min<string | null>('deletes_checked_at').as('deletes_checked_at'),
      ]
    })
    .groupBy(['resource', 'status', 'completeness', 'read', 'checked', 'is_set_back'])
    .execute()

/* Writing. */

/** What becomes of a cursor's columns; those that are undefined stay as they are. */
export type CursorChange = {
  readonly [Column in Exclude<keyof Cursor, 'tenant_id' | 'resource'>]?: Cursor[Column] | undefined
}

/** The statement that moves a cursor. It runs in the transaction of the rows that justify the move. */
export function moveCursor(db: Db, key: CursorKey, change: CursorChange): CompiledQuery {
  const columns: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) continue
    columns[name] = value !== null && jsonColumns.includes(name) ? JSON.stringify(value) : value
  }
  const moved = Object.keys(columns)
  return compiledOnce(db, `moveCursor ${moved}`, { ...cursorColumns(key), ...columns }, (row) =>
    db
      .insertInto('sync_cursors')
      .values(row as Insertable<StateRows['sync_cursors']>)
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'resource'])
          .doUpdateSet(Object.fromEntries(moved.map((name) => [name, sql.ref(`excluded.${name}`)]))),
      ),
  )
}

/** The list was read whole, so the requested refill is done. A refill requested since then stays. */
export const endRefill = (db: Db, key: CursorKey, demand: string): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set({ refill: null })
    .where((eb) => eb.and({ ...cursorColumns(key), refill: demand }))
    .compile()

/**
 * The statement that makes the cursors of a resource read their lists whole. An interrupted walk has stored pages
 * without the new table or column, so it isn't resumed. `at`: distinguishes this refill from an earlier one with the
 * same reason.
 */
export const demandRefill = (
  db: Db,
  resource: string,
  reason: string,
  at: string,
  tenantId?: Int64,
  /** Only where responses had an unknown field there. */
  path?: string,
): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set({ refill: `${reason} (${at})`, walk: null, refill_walk: null })
    .where('resource', '=', resource)
    .$if(tenantId !== undefined, (query) => query.where('tenant_id', '=', tenantId ?? 0))
    .$if(path !== undefined, (query) =>
      query.where((eb) =>
        eb.exists(
          eb
            .selectFrom('sync_drift')
            .select('path')
            .whereRef('sync_drift.tenant_id', '=', 'sync_cursors.tenant_id')
            .where('sync_drift.resource', '=', resource)
            .where('path', '=', path ?? ''),
        ),
      ),
    )
    .where((eb) =>
      eb.or((['watermark', 'walk', 'refill_walk'] as const).map((name) => eb(name, 'is not', null))),
    )
    .compile()

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

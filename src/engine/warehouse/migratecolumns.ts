/**
 * Moves values between `_extra` and the columns that the configuration, or a new version of the program, makes from
 * unknown fields. Runs do so under their lease, before any other work; so does the command `migrate`.
 *
 * A column is in one of these states, which `sync_columns` keeps:
 *
 * (no row):  the values are in `_extra`; or the column is declared, and its values are in it.
 * filling:   the values are being moved into the column. A row of the table is done when its `_extra` lacks the
 *            member.
 * column:    the values are in the column, as configured.
 * emptying:  the configuration no longer has the column; the values are being moved back. A row is done when its column
 *            is null.
 *
 * Values move in batches, each in its own transaction. A run after a kill continues where the rows show it stopped.
 */

import { type CompiledQuery, sql } from 'kysely'
import { type Kind, kinds } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { fromMicros } from '../base/timestamp.js'
import { nameColumn } from '../model/flatten/recordname.js'
import { hiddenValue } from '../model/privacy.js'
import type { Model, ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'
import { type Db, rootTable } from './database.js'
import type { Dialect } from './dialect.js'
import { demandRefill, seenFrom } from './layout.js'
import { type MovingField, moveValues, type Transact } from './pendingmoves.js'
import { pendingPrivacy } from './pendingprivacy.js'
import { remakeNames, withOtherNames } from './recordnames.js'
import type { Warehouse } from './warehouse.js'

/** Where values go, what happens to the versions of a resource (layout.ts), or that names are made (recordnames.ts). */
type Destination = MovingField['to'] | 'history' | 'no history' | 'name'

/** What was moved, for people. */
export interface MovedColumn {
  readonly table: string
  readonly column: string
  readonly to: Destination
  readonly values: number
}

type State = 'column' | 'filling' | 'emptying'

interface TrackedColumn {
  readonly resource: string
  readonly name: string
  readonly kind: Kind
  readonly state: State
}

/** What to do with one column. */
interface WaitingMove {
  readonly resource: ResourceModel
  readonly name: string
  readonly kind: Kind
  readonly to: Destination
  /** Whether the configuration has the column, which is then recorded. */
  readonly isPromoted: boolean
  /** Its values were stored under the rules of another kind. */
  readonly isOfOtherKind?: boolean
}

const isKind = (kind: string | null): kind is Kind => kinds.some((known) => known === kind)

async function readTracked({ db }: Dialect): Promise<TrackedColumn[]> {
  const rows = await db.selectFrom('sync_columns').selectAll().orderBy('resource').orderBy('name').execute()
  return rows.flatMap(({ resource, name, kind, state }) =>
    isKind(kind) ? [{ resource, name, kind, state: state as State }] : [],
  )
}

/** What to do so that the rows match the model. Empty if they do. */
async function waitingMoves({ dialect, model }: Warehouse): Promise<WaitingMove[]> {
  const tracked = await readTracked(dialect)
  const wanted = model.list.flatMap((resource) =>
    Object.entries(resource.promoted).flatMap(([name, kind]): WaitingMove[] => {
      const known = tracked.find((column) => column.resource === resource.name && column.name === name)
      const isOfOtherKind = known?.state === 'column' && known.kind !== kind
      if (known?.state === 'column' && !isOfOtherKind) return []
      return [{ resource, name, kind, to: 'column', isPromoted: true, isOfOtherKind }]
    }),
  )
  const others = tracked.flatMap(({ resource: of, name, kind }): WaitingMove[] => {
    const resource = model.byName.get(of)
    if (name === seenFrom) return []
    if (!resource || Object.hasOwn(resource.promoted, name)) return []
    const isDeclared = Object.hasOwn(resource.resource.fields, name)
    return [{ resource, name, kind, to: isDeclared ? 'column' : '_extra', isPromoted: false }]
  })
  // Names last: they are made of columns.
  return [...wanted, ...others, ...switches(model, tracked), ...(await outdatedNames(dialect, model))]
}

/** The resources whose stored names are made of other fields than the configured ones, or by an older program. */
async function outdatedNames({ db }: Dialect, model: Model): Promise<WaitingMove[]> {
  const found = await withOtherNames(db, model)
  return found.map((resource) => ({
    resource,
    name: nameColumn,
    kind: 'text',
    to: 'name',
    isPromoted: false,
  }))
}

/** The resources whose history was switched on or off in the configuration. */
function switches(model: Model, tracked: readonly TrackedColumn[]): WaitingMove[] {
  return model.list.flatMap((resource): WaitingMove[] => {
    const known = tracked.find((column) => column.resource === resource.name && column.name === seenFrom)
    const isWanted = resource.history !== undefined
    if (isWanted ? known?.state === 'column' : known === undefined) return []
    const to = isWanted ? 'history' : 'no history'
    return [{ resource, name: seenFrom, kind: 'timestamp', to, isPromoted: isWanted }]
  })
}

const track = ({ db }: Dialect, { resource, name, kind }: WaitingMove, state: State): CompiledQuery =>
  db
    .insertInto('sync_columns')
    .values({ resource: resource.name, name, kind, state })
    .onConflict((c) => c.columns(['resource', 'name']).doUpdateSet({ kind, state }))
    .compile()

const untrack = ({ db }: Dialect, { resource, name }: WaitingMove): CompiledQuery =>
  db
    .deleteFrom('sync_columns')
    .where((eb) => eb.and({ resource: resource.name, name }))
    .compile()

/** What a value becomes where it goes to. Stored values were hidden before (hiding.ts): this finds what came since. */
function hiddenAt(
  { privacy, hidden }: Model,
  { resource, name, to }: Pick<WaitingMove, 'resource' | 'name' | 'to'>,
): MovingField['hidden'] {
  const column = hidden.get(resource.name)?.find((one) => one.name === (to === '_extra' ? to : name))
  return {
    value: (tenantId, value) => (column ? hiddenValue(privacy, tenantId, column, value) : value),
    entry: (entry) => resource.places.entry(entry),
  }
}

/** Carries out one move and returns what it moved. `at`: now, canonical. */
async function carryOut(
  { dialect, model }: Pick<Warehouse, 'dialect' | 'model'>,
  transact: Transact,
  move: WaitingMove,
  at: string,
): Promise<MovedColumn> {
  const { resource, name, to, isPromoted, kind } = move
  const [table] = resource.tables
  if (!table) throw new Bug(`${resource.name} has no table`)
  const live = await dialect.catalog.liveColumns()
  const isLive = (wanted: string): boolean =>
    live.some((column) => column.table === table.name && column.name === wanted)
  const exists = isLive(name)
  if (to === 'history' || to === 'no history') {
    const values = await transact(async (session) => {
      await session.run(isPromoted ? track(dialect, move, 'column') : untrack(dialect, move))
      return exists ? (await session.run(switchHistory(dialect.db, table, to))).affected : 0
    })
    return { table: table.name, column: name, to, values }
  }
  if (to === 'name') {
    const values = await remakeNames(dialect, transact, resource)
    return { table: table.name, column: name, to, values }
  }
  await transact((session) => session.run(track(dialect, move, to === 'column' ? 'filling' : 'emptying')))
  const values = exists
    ? await moveValues(dialect, transact, { table, name, kind, to, hidden: hiddenAt(model, move) })
    : 0
  await transact(async (session) => {
    await session.run(isPromoted ? track(dialect, move, 'column') : untrack(dialect, move))
    const doubt = inexact(move, model)
    if (doubt !== undefined) await session.run(demandRefill(dialect.db, resource.name, doubt, at))
  })
  return { table: table.name, column: name, to, values }
}

/**
 * Why the source has to be queried for what it sent exactly: a column doesn't distinguish null from absent, or 1 from
 * "1".
 */
function inexact({ resource, name, to, isOfOtherKind }: WaitingMove, { hidden }: Model): string | undefined {
  if (to === '_extra') return `the column ${resource.name}.${name} is no longer configured`
  if (to === 'column' && hidden.get(resource.name)?.some((column) => column.name === '_extra'))
    return `the field ${resource.name}.${name} was part of _extra, which is not kept`
  return isOfOtherKind ? `the column ${resource.name}.${name} became another kind` : undefined
}

/** What `moveColumns` would do with one column. */
export interface PendingMove extends Omit<MovedColumn, 'values' | 'to'> {
  /** The last ones: what `privacy` changes (pendingprivacy.ts). */
  readonly to: Destination | 'hidden' | 'new key' | 'loosened'
  readonly resource: string
  /** For values that go back into `_extra`; null for others. */
  readonly values: number | null
  /** Whether the lists of its resource are read whole afterwards. */
  readonly refills: boolean
}

/** Whether `moveColumns` has anything to do. Rows to hide are no such thing: a claim of the lease hides them. */
export const hasPendingMoves = async (warehouse: Warehouse): Promise<boolean> =>
  warehouse.trying(async () => (await waitingMoves(warehouse)).length > 0)

/** What `moveColumns` would do, for commands that show it first. Changes nothing. */
export const pendingMoves = (warehouse: Warehouse): Promise<PendingMove[]> =>
  warehouse.trying(() => movesOf(warehouse))

async function movesOf(warehouse: Warehouse): Promise<PendingMove[]> {
  const { dialect } = warehouse
  const live = await dialect.catalog.liveColumns()
  const pending: PendingMove[] = []
  for (const move of await waitingMoves(warehouse)) {
    const { resource, name: column, to } = move
    const table = resource.tables[0]?.name ?? resource.name
    const isThere = live.some((one) => one.table === table && one.name === column)
    const values = to !== '_extra' ? null : isThere ? await heldIn(dialect, table, column) : 0
    const refills = inexact(move, warehouse.model) !== undefined
    pending.push({ resource: resource.name, table, column, to, values, refills })
  }
  const isThere = live.some(({ table }) => table === 'sync_privacy')
  for (const { lists, ...change } of isThere ? await pendingPrivacy(dialect, warehouse.model) : [])
    for (const resource of lists.length > 0 ? lists : [''])
      pending.push({ ...change, resource, values: null, refills: resource !== '' })
  return pending
}

async function heldIn({ db }: Dialect, table: string, column: string): Promise<number> {
  const query = db.selectFrom(table as 'tenants').where(column as 'tenant_id', 'is not', null)
  const row = await query.select((eb) => eb.fn.countAll<number>().as('n')).executeTakeFirst()
  return Number(row?.n ?? 0)
}

/** Moves all values to where the model has them, under the lease. Ends with the signal. */
export function moveColumns(warehouse: Warehouse, signal: AbortSignal): Promise<MovedColumn[]> {
  const transact: Transact = (work) => {
    signal.throwIfAborted()
    return warehouse.transaction(work)
  }
  return warehouse.trying(() => moveWith(warehouse, transact))
}

async function moveWith(warehouse: Warehouse, transact: Transact): Promise<MovedColumn[]> {
  const { clock } = warehouse
  const moved: MovedColumn[] = []
  for (const move of await waitingMoves(warehouse))
    moved.push(await carryOut(warehouse, transact, move, fromMicros(clock.nowMicros())))
  return moved
}

/**
 * On: an existing row counts as seen since the last request that showed it. An earlier beginning would claim what
 * nobody observed, such as versions that came while the history was off. Off: nothing maintains the column any more,
 * and a leftover value would be wrong from the row's next version on.
 */
const switchHistory = (db: Db, { name }: Table, to: 'history' | 'no history'): CompiledQuery => {
  const since = to === 'history' ? sql.ref('_synced_at') : sql`null`
  return db
    .updateTable(rootTable({ name }))
    .set({ [seenFrom]: since } as never)
    .where(sql<boolean>`${sql.ref(seenFrom)} is distinct from ${since}`)
    .compile()
}

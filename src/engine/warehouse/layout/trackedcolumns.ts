/**
 * Columns that the configuration makes of undeclared fields, as `sync_columns` has them:
 *
 * column: it is configured.
 * left:   it was, once. It stays in its table, where it is hidden, forgotten, copied and described like the others.
 *
 * When that changes, no value moves between the column and `_extra`: the lists are read in full again, as for any other
 * column that was added, and meanwhile both forms stand side by side. A record that is read again has its value in one
 * of them; what no list shows keeps what it has, since only the source knows what it sent. (Moving what is stored was
 * judged worse: a column can't tell null from absent, nor 1 from "1", so the list had to be read in any case.)
 */
import type { CompiledQuery } from 'kysely'
import { type Kind, kinds } from '../../../../schema/resource.js'
import { historyName } from '../../model/historytable.js'
import type { LeftColumns, Model, ResourceModel } from '../../model/resourcemodel.js'
import type { Db } from '../database.js'
import type { Dialect, LiveColumn } from '../dialect.js'
import type { Change } from './ddl.js'

/**
 * The column whose row marks that the versions of a resource are kept. A run switches its history on and off (rewrites.ts)
 * under its lease before it stores anything: a row's `_seen_from` is true only while every writer maintains it.
 */
export const seenFrom = '_seen_from'

interface TrackedColumn {
  readonly resource: string
  readonly name: string
  /** As it is stored: another version may know other kinds. */
  readonly kind: string | null
  readonly state: string | null
}

/** The marks of resources whose versions are kept. */
export const keptVersions = (db: Db) => db.selectFrom('sync_columns').selectAll().where('name', '=', seenFrom)

export const trackedColumns = (db: Db): CompiledQuery<TrackedColumn> =>
  db.selectFrom('sync_columns').selectAll().where('name', '!=', seenFrom).compile()

/** The kind of a column that nothing declares, such as one that was configured earlier. */
export function liveKind({ sql: { columnType } }: Dialect, { type }: LiveColumn): Kind | undefined {
  const natural: readonly Kind[] = ['text', ...kinds, 'day']
  return natural.find((kind) => columnType(kind).toLowerCase() === type.toLowerCase())
}

const isDeclared = ({ resource, promoted }: ResourceModel, name: string): boolean =>
  Object.hasOwn(resource.fields, name) || Object.hasOwn(promoted, name)

/**
 * The columns that earlier configurations have left in these tables. Warehouses of 0.3.0 don't have all of them on
 * record: a column that nothing declares is one if the table of versions, which only the program makes, has it as well.
 */
export function leftColumns(
  dialect: Dialect,
  { list }: Model,
  tracked: readonly TrackedColumn[],
  live: readonly LiveColumn[],
): LeftColumns {
  const left: Record<string, Record<string, Kind>> = {}
  const resources = new Map(list.map((resource) => [resource.name, resource]))
  for (const column of live) {
    const { name, table: of } = column
    const resource = resources.get(of)
    if (!resource || isDeclared(resource, name)) continue
    const known = resource.tables[0]?.columns.find((one) => one.name === name)
    if (known && !known.isLeft) continue
    const found = tracked.find((one) => one.resource === of && one.name === name)
    const history = historyName(resource.resource)
    if (!found && !live.some((one) => one.table === history && one.name === name)) continue
    const kind = kinds.find((one) => one === found?.kind) ?? liveKind(dialect, column)
    if (kind) left[of] = { ...left[of], [name]: kind }
  }
  return left
}

/** What the configuration, or the program, has made of existing columns since: their lists are to be read again. */
export function trackedChanges(
  db: Db,
  { list }: Model,
  tracked: readonly TrackedColumn[],
  live: readonly LiveColumn[],
): Change[] {
  const known = new Map(tracked.map((column) => [`${column.resource}.${column.name}`, column]))
  const isLive = (of: string, name: string): boolean =>
    live.some((column) => column.table === of && column.name === name)
  const change = (table: string, what: string, statement: CompiledQuery): Change => ({
    table,
    what,
    kind: 'field',
    statements: [statement],
  })
  const promoted = list.flatMap(({ name: of, promoted: columns }) =>
    Object.entries(columns).flatMap(([name, kind]): Change[] => {
      const found = known.get(`${of}.${name}`)
      // A column that is yet to be added is a change of its own.
      if (!isLive(of, name) || (found?.state === 'column' && found.kind === kind)) return []
      return [change(of, `fill the column ${name}`, track(db, { resource: of, name, kind, state: 'column' }))]
    }),
  )
  const others = tracked.flatMap((column): Change[] => {
    const { resource: of, name, kind, state } = column
    const resource = list.find((one) => one.name === of)
    if (!resource || Object.hasOwn(resource.promoted, name) || !isLive(of, name)) return []
    const declared = resource.resource.fields[name]
    if (declared?.type === 'field') {
      const isFilled = state === 'column' && kind === declared.kind
      return isFilled ? [] : [change(of, `fill the column ${name}`, untrack(db, column))]
    }
    if (state === 'left') return []
    const what = `leave the column ${name}, which is no longer configured`
    return [change(of, what, track(db, { ...column, state: 'left' }))]
  })
  return [...promoted, ...others]
}

export const track = (db: Db, column: TrackedColumn): CompiledQuery =>
  db
    .insertInto('sync_columns')
    .values(column)
    .onConflict((c) =>
      c.columns(['resource', 'name']).doUpdateSet({ kind: column.kind, state: column.state }),
    )
    .compile()

export const untrack = (
  db: Db,
  { resource, name }: Pick<TrackedColumn, 'resource' | 'name'>,
): CompiledQuery =>
  db
    .deleteFrom('sync_columns')
    .where((eb) => eb.and({ resource, name }))
    .compile()

/** After a migration: the configured columns exist, in tables of which `changed` says so. */
export const trackPromoted = (
  db: Db,
  { list }: Model,
  isChanged: (table: string) => boolean,
): CompiledQuery[] =>
  list.flatMap(({ name: resource, promoted }) =>
    isChanged(resource)
      ? Object.entries(promoted).map(([name, kind]) => track(db, { resource, name, kind, state: 'column' }))
      : [],
  )

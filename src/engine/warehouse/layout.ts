/**
 * What it means for the cursors that a table or a column was created: their watermarks cover rows that the new table or
 * column doesn't have. migrate.ts uses this, and stores the result in the transaction of the change.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64, Kind } from '../../../schema/resource.js'
import { nameColumn } from '../model/flatten/recordname.js'
import type { Model, ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'
import type { Change } from './change.js'
import type { Db } from './database.js'

/*
 * Switches the history of a resource on and off (migratecolumns.ts keeps the state in `sync_columns`). A run does so
 * under its lease before it stores anything: a row's `_seen_from` is true only while every writer maintains it.
 */

/** The column whose row in `sync_columns` marks that versions are kept. */
export const seenFrom = '_seen_from'

/** No page fills it: until a comparison finds otherwise, the list shows every record. */
const unlistedAt = '_unlisted_at'

/** The columns of each table when it was last migrated. undefined if no program has stored them yet. */
export type Layout = ReadonlyMap<string, ReadonlySet<string>>

/** `unchanged`: the tables that a migration left as they were; for these, `known` stays. */
export const layoutText = (
  tables: readonly Table[],
  known: Layout | undefined,
  unchanged: ReadonlyMap<string, unknown>,
): string =>
  JSON.stringify(
    tables.flatMap(({ name, columns }) => {
      const kept = unchanged.has(name) ? known?.get(name) : columns.map((column) => column.name)
      return kept ? [[name, [...kept]]] : []
    }),
  )

export function readLayout(text: string | null | undefined): Layout | undefined {
  if (!text) return undefined
  const tables = JSON.parse(text) as [string, string[]][]
  return new Map(tables.map(([name, columns]) => [name, new Set(columns)]))
}

/**
 * What fills the rows of a change: `walk`, a walk of the whole list; `extra`, the values that `_extra` has kept for a
 * field that the program didn't know before. undefined if there is nothing to fill.
 */
function filledBy(model: Model, known: Layout | undefined, change: Change): 'walk' | 'extra' | undefined {
  const table = model.tableByName.get(change.table)
  if (!table || change.kind === 'index') return undefined
  const { column } = change
  const fields = model.byName.get(table.resource)?.resource.fields ?? {}
  if (!column || table.role !== 'root' || fields[column.name]?.type !== 'field') return 'walk'
  // A column that used to exist was dropped: its values aren't anywhere in the warehouse.
  return known?.get(table.name)?.has(column.name) ? 'walk' : 'extra'
}

/** What follows from the changes of a migration. */
interface Consequences {
  /** Resources whose cursors have to read their lists whole, with the reason. */
  readonly refills: ReadonlyMap<string, string>
  /** Columns whose values are in `_extra`, or in another stamp of the row. */
  readonly fills: readonly {
    readonly resource: string
    readonly name: string
    readonly kind: Kind
  }[]
  /** Resources whose own table was created. */
  readonly anew: readonly string[]
  /** Derived tables that lack rows or values: they are recomputed from the stored records. */
  readonly rederived: readonly string[]
}

/** Records with versions are walked; every sync reads bare lists of names whole. */
const isWalked = ({ resource }: ResourceModel): boolean => resource.list === 'records'

/** The resources whose records produce rows of a table. */
const broughtBy = (model: Model, table: string): readonly ResourceModel[] =>
  model.embedded?.tables.some(({ name }) => name === table)
    ? model.list
    : model.list.filter(({ tables }) => tables.some(({ name }) => name === table))

/** Why the lists that produce a table's rows are read whole. */
function reasonOf({ table, column }: Change): string {
  return column ? `the column ${table}.${column.name} was added` : `the table ${table} was created`
}

export function consequencesOf(
  model: Model,
  known: Layout | undefined,
  changes: readonly Change[],
): Consequences {
  const reasons = new Map<string, Set<string>>()
  const fills: Consequences['fills'][number][] = []
  const anew: string[] = []
  const rederived = new Set<string>()
  for (const change of changes) {
    const { table, column, kind } = change
    if (column?.name === unlistedAt || column?.computedBy === nameColumn) continue
    if (model.tableByName.get(table)?.role === 'derived') {
      if (kind !== 'index') rederived.add(table)
      continue
    }
    if (column?.computedBy !== undefined) {
      rederived.add(column.computedBy)
      continue
    }
    if (column?.name === seenFrom) {
      fills.push({ resource: table, name: column.name, kind: column.kind })
      continue
    }
    const how = filledBy(model, known, change)
    if (how === 'extra' && column) fills.push({ resource: table, name: column.name, kind: column.kind })
    if (how !== 'walk') continue
    if (kind === 'table' && model.byName.has(table)) anew.push(table)
    const what = reasonOf(change)
    for (const { name } of broughtBy(model, table).filter(isWalked))
      reasons.set(name, (reasons.get(name) ?? new Set()).add(what))
  }
  return {
    refills: new Map([...reasons].map(([name, all]) => [name, [...all].join(', ')])),
    fills,
    anew,
    rederived: [...rederived],
  }
}

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
): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set({ refill: `${reason} (${at})`, walk: null, refill_walk: null })
    .where('resource', '=', resource)
    .$if(tenantId !== undefined, (query) => query.where('tenant_id', '=', tenantId ?? 0))
    .where((eb) =>
      eb.or((['watermark', 'walk', 'refill_walk'] as const).map((name) => eb(name, 'is not', null))),
    )
    .compile()

/** The statements that record what follows from a migration. */
export function recordConsequences(
  db: Db,
  { refills, fills, anew, rederived }: Consequences,
  at: string,
): CompiledQuery[] {
  return [
    ...[...refills].map(([resource, reason]) => demandRefill(db, resource, reason, at)),
    // An empty table has no expected rows.
    ...anew.map((name) => db.deleteFrom('sync_registers').where('resource', '=', name).compile()),
    ...rederived.map((name) => db.deleteFrom('sync_derived').where('name', '=', name).compile()),
    ...fills.map((column) =>
      db
        .insertInto('sync_columns')
        .values({ ...column, state: 'filling' })
        .onConflict((c) => c.columns(['resource', 'name']).doUpdateSet({ state: 'filling' }))
        .compile(),
    ),
  ]
}

/**
 * What it means for the cursors that a table or a column was created: their watermarks cover rows that the new table or
 * column doesn't have. migrate.ts uses this, and stores the result in the transaction of the change.
 */
import type { CompiledQuery } from 'kysely'
import { nameColumn } from '../../model/flatten/recordname.js'
import { historyName } from '../../model/historytable.js'
import type { Model, ResourceModel } from '../../model/resourcemodel.js'
import type { Db } from '../database.js'
import { demandRefill } from '../state/cursors.js'
import { batchTables } from '../store/versionbatch.js'
import type { Change } from './ddl.js'
import { seenFrom, untrack } from './trackedcolumns.js'

/** No page fills it: until a comparison finds otherwise, the list shows every record. */
const unlistedAt = '_unlisted_at'

interface Consequences {
  /** Resources whose cursors have to read their lists whole, with the reason. */
  readonly refills: ReadonlyMap<string, string>
  /** Ids of nested items, which the documentation doesn't show: only cursors that have reported one read their lists whole. */
  readonly reported: readonly { readonly resource: string; readonly path: string; readonly reason: string }[]
  /** Resources whose history has to be switched on again: its stamp was added. */
  readonly begun: readonly string[]
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
function reasonOf({ table, column, kind }: Change): string {
  if (kind === 'field') return 'the configuration of its columns has changed'
  return column ? `the column ${table}.${column.name} was added` : `the table ${table} was created`
}

/** Where responses have the id that a column of a nested list was made for. undefined for any other column. */
function itemIdPath(model: Model, { table, column }: Change): { resource: string; path: string } | undefined {
  const of = model.list.find(({ tables }) => tables.some(({ name }) => name === table))
  if (!of || column?.name !== 'id') return undefined
  for (const [name, member] of Object.entries(of.resource.fields))
    if (member.type === 'many' && member.itemsOf && `${of.resource.singular}_${member.table}` === table)
      return { resource: of.name, path: `${name}[].id` }
  return undefined
}

export function consequencesOf(model: Model, changes: readonly Change[]): Consequences {
  const reasons = new Map<string, Set<string>>()
  const reported: Consequences['reported'][number][] = []
  const begun: string[] = []
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
      begun.push(table)
      continue
    }
    if (!model.tableByName.has(table) || kind === 'index') continue
    if (kind === 'table' && model.byName.has(table)) anew.push(table)
    const what = reasonOf(change)
    const place = itemIdPath(model, change)
    if (place) {
      reported.push({ ...place, reason: what })
      continue
    }
    for (const { name } of broughtBy(model, table).filter(isWalked))
      reasons.set(name, (reasons.get(name) ?? new Set()).add(what))
  }
  return {
    refills: new Map([...reasons].map(([name, all]) => [name, [...all].join(', ')])),
    reported,
    begun,
    anew,
    rederived: [...rederived],
  }
}

export function recordConsequences(
  db: Db,
  { refills, reported, begun, anew, rederived }: Consequences,
  at: string,
): CompiledQuery[] {
  return [
    ...[...refills].map(([resource, reason]) => demandRefill(db, resource, reason, at)),
    ...reported.map(({ resource, reason, path }) => demandRefill(db, resource, reason, at, undefined, path)),
    // An empty table has no expected rows.
    ...anew.map((name) => db.deleteFrom('sync_registers').where('resource', '=', name).compile()),
    ...rederived.map((name) => db.deleteFrom('sync_derived').where('name', '=', name).compile()),
    ...begun.map((resource) => untrack(db, { resource, name: seenFrom })),
  ]
}

/**
 * All tables that the lists of a resource write to, or that follow from their rows: while one of them can't be changed as the
 * configuration asks, these lists wait. The one place that says what a change of a table keeps back.
 */
export function tablesBehind(resource: ResourceModel, embedded: ResourceModel | undefined): string[] {
  // Names in a plain list hold no other record.
  const holds = resource.resource.list === 'records' ? embedded : undefined
  const { tables, derived, embedded: inside } = batchTables(resource, holds)
  const histories = [resource, holds].flatMap((one) => (one && historyName(one.resource)) ?? [])
  return [...[...tables, ...derived, ...inside].map(({ name }) => name), ...histories]
}

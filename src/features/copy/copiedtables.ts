/**
 * Which tables and columns a copy takes: all that exist, as they are, but for columns that nothing reads any more. The
 * copy of an older program's warehouse stays one, so the next run upgrades the copy as it would have upgraded the
 * original, with the same consequences.
 */
import { isWithheld, type Kind } from '../../../schema/resource.js'
import { madeColumns } from '../../engine/model/flatten/recordname.js'
import { historyTable } from '../../engine/model/historytable.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import { type Column, datedColumn, type Table, tablesOf } from '../../engine/model/table.js'
import type { Dialect, LiveColumn } from '../../engine/warehouse/dialect.js'
import { liveKind } from '../../engine/warehouse/layout/trackedcolumns.js'
import { formerCalendars } from '../../engine/warehouse/views/viewstore.js'

export interface CopiedTables {
  readonly tables: readonly Table[]
  /** Tables and columns that shopsync didn't make, or whose type it doesn't know. */
  readonly leftOut: readonly string[]
}

/**
 * What the warehouse makes again by itself: the lease, tables that the views need, and who listens: nobody to the copy.
 */
const madeAnew: ReadonlySet<string> = new Set([
  'sync_lease',
  'report_types',
  'report_shifted_days',
  ...formerCalendars,
  'sync_listeners',
])

/** Every table that any configuration of these resources could have made. */
function everyTable({ list, tables, state }: Model): Table[] {
  const known = list.flatMap(({ resource }) => {
    if (resource.list !== 'records') return []
    const kept = { ...resource, history: true }
    // The resource's own table has an extra column if versions are or were kept.
    return [...tablesOf(kept).slice(0, 1), historyTable(kept)]
  })
  const all = [...tables, ...known.filter((table) => table !== undefined), ...state]
  return [...new Map(all.map((table) => [table.name, table])).values()]
}

/** Declared columns first, in their order. */
function columnsOf(
  table: Table,
  found: readonly LiveColumn[],
  kindOfOther: (column: LiveColumn) => Kind | undefined,
) {
  const names = new Set(found.map(({ name }) => name))
  for (const name of table.former ?? []) names.delete(name)
  const declared = table.columns.filter(({ name }) => names.has(name))
  for (const { name } of declared) names.delete(name)
  const others = found.flatMap((column): Column[] => {
    const kind = names.has(column.name) ? kindOfOther(column) : undefined
    return kind ? [{ name: column.name, kind, nullable: true, doc: 'Not in this configuration.' }] : []
  })
  return {
    columns: [...declared, ...others],
    strange: [...names].filter((name) => !others.some((column) => column.name === name)),
  }
}

/** The table as it is: with an older program's key, whose change has consequences of its own. */
function asItIs(
  table: Table,
  columns: readonly Column[],
  live: readonly (string | null)[] | undefined,
): Table {
  const there = new Set(columns.map(({ name }) => name))
  const isThere = (name: string | null): name is string => name !== null && there.has(name)
  const key = live?.filter(isThere)
  return {
    ...table,
    columns,
    key: key && key[0] === table.key[0] && key.length === live?.length ? key : table.key.filter(isThere),
    indexes: table.indexes.filter((index) => index.every((column) => isThere(datedColumn(column) ?? column))),
    unique: table.unique ? table.unique.filter(isThere) : undefined,
  }
}

/** `apart`: tables that features copy themselves. */
export async function copiedTables(
  dialect: Dialect,
  model: Model,
  apart: ReadonlySet<string>,
): Promise<CopiedTables> {
  const live = await dialect.catalog.liveColumns()
  const keys = new Map(
    (await dialect.catalog.liveIndexes()).flatMap((index) =>
      index.isPrimary ? [[index.table, index.columns] as const] : [],
    ),
  )
  const byTable = new Map<string, LiveColumn[]>()
  for (const column of live) byTable.set(column.table, [...(byTable.get(column.table) ?? []), column])
  const leftOut: string[] = []
  const tables = everyTable(model).flatMap((table) => {
    const found = byTable.get(table.name)
    byTable.delete(table.name)
    if (!found || madeAnew.has(table.name)) return []
    const { columns, strange } = columnsOf(table, found, (column) => liveKind(dialect, column))
    leftOut.push(...strange.map((name) => `${table.name}.${name}`))
    return [asItIs(table, columns, keys.get(table.name))]
  })
  const strangers = [...byTable.keys()].filter((name) => !madeAnew.has(name) && !apart.has(name))
  return { tables, leftOut: [...strangers, ...leftOut].sort() }
}

/** What a copy takes of a warehouse. Default: all of it. */
export interface CopiedPart {
  readonly tenants: ReadonlySet<string>
  /** Whether columns that say something about a person come along. */
  readonly isPersonal: boolean
}

/** State that views show or are made by. */
const ofParts =
  /^(tenants|sync_(cursors|columns|derived|meta|privacy)|daily_snapshots|report_(zones|tenants|types))$/

/** Names in sync_meta that concern the tables, and no tenant. */
const ofTables = /^(schema_version|model|columns|names)$/

/** The tables of which a copy of some tenants has rows: what people query, and nothing of how it was fetched. */
export const tablesOfPart = ({ tables }: CopiedTables): CopiedTables => ({
  tables: tables.filter(
    ({ name, role, resource }) => ofParts.test(name) || (resource !== '' && role !== 'history'),
  ),
  leftOut: [],
})

/** The columns that a copy of some tenants leaves empty, as "drop" would leave them. */
export function impersonalColumns({ list }: Model, { name: table, columns }: Table): ReadonlySet<string> {
  const personal = columns.filter((one) => isWithheld(one.personal))
  const found = new Set(personal.map(({ name }) => name))
  const owner = list.find(({ name }) => name === table)
  if (!owner || found.size === 0) return found
  // Names are made of such columns, or of what `_extra` has.
  const without = madeColumns({ ...owner.resource, hidden: [...found] })
  const { impersonal = [] } = owner.resource
  const isImpersonal = (lists: readonly (readonly string[])[]): boolean =>
    lists.flat().every((field) => impersonal.includes(field))
  for (const [i, { name, lists }] of madeColumns({ ...owner.resource, hidden: [] }).entries())
    if (!isImpersonal(lists) && JSON.stringify(lists) !== JSON.stringify(without[i]?.lists)) found.add(name)
  return found
}

/**
 * Names in sync_meta that concern the files, views and calendar of one warehouse, its processes, or a copy in progress
 * into it.
 */
const ofThisPlace = (name: unknown): boolean =>
  typeof name === 'string' &&
  /^(calendar|copy|part|scheduler|tenant_traces|then turn|views( .*)?)$/.test(name)

/** Whether a table's row only concerns its own warehouse, or another tenant; if so, it is neither copied nor compared. */
export function isNotCopied(
  { name, columns }: Table,
  part?: CopiedPart,
): (tuple: readonly unknown[]) => boolean {
  if (part) {
    const placeOf = (wanted: string): number => columns.findIndex((column) => column.name === wanted)
    if (name === 'sync_meta') return (tuple) => !ofTables.test(String(tuple[placeOf('name')]))
    const tenant = placeOf('tenant_id')
    return tenant === -1 ? () => false : (tuple) => !part.tenants.has(String(tuple[tenant]))
  }
  // Nobody has taken anything of a rate-limit window for the copy.
  if (name === 'sync_rate') return () => true
  if (name !== 'sync_meta') return () => false
  const place = columns.findIndex((column) => column.name === 'name')
  return (tuple) => ofThisPlace(tuple[place])
}

import type { Derived } from '../../../schema/derive.js'
import {
  type Children,
  type Field,
  itemFields,
  type Kind,
  type Personal,
  type Resource,
  type Scalars,
  type Shape,
} from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { singularOf, withArticle } from '../base/format.js'
import { madeColumns, nameColumn } from './flatten/recordname.js'

/** The warehouse tables of a resource, derived from its declaration. Used for DDL, flattening and the dictionary. */

export interface Column {
  readonly name: string
  readonly kind: Kind
  /** false for keys and versions, which every row must have. A value that goes to quarantine leaves null behind. */
  readonly nullable: boolean
  /** The API documentation says that the value may be null. Absent on columns that don't come from the API. */
  readonly mayBeNull?: boolean
  readonly doc: string
  /** The documented values of an enumeration. */
  readonly values?: readonly string[] | undefined
  /** The table whose id this is. */
  readonly references?: string | undefined
  /** Whose data it is. Absent if it says nothing about a person. */
  readonly personal?: Personal | undefined
  readonly isLeft?: true
  /** The derived table whose rule computes it from the whole record, or `_name` (recordname.ts). No page of the source contains it. */
  readonly computedBy?: string
}

/** One warehouse table, with its columns in the order in which they are created and its tuples are written. */
export interface Table {
  readonly name: string
  readonly resource: string
  readonly doc: string
  readonly grain: string
  /**
   * `root`: one row per record, with version, tombstone and `_extra`. `child`: owned by a root row. `derived`: computed
   * from a root row and its children, deleted and revived with it. `history`: ended versions of a root row.
   */
  readonly role: 'root' | 'child' | 'derived' | 'history'
  readonly columns: readonly Column[]
  /** Names of the key's columns. The first is always tenant_id. */
  readonly key: readonly string[]
  /** For a child: the column that holds its root's id. */
  readonly owner?: string
  /** For a child: its rows move from record to record and keep their ids (warehouse/state/sharedrows.ts). */
  readonly moves?: boolean | undefined
  /** Secondary indexes, each a list of columns, or of `utc_day(COLUMN)`. */
  readonly indexes: readonly (readonly string[])[]
  /** Columns that are unique, each by itself. */
  readonly unique?: readonly string[] | undefined
  /** See `StateTable.vouches`. */
  readonly vouches?: true | undefined
  /** See `StateTable.former`. */
  readonly former?: readonly string[] | undefined
}

const column = (name: string, kind: Kind, nullable: boolean, doc: string): Column => ({
  name,
  kind,
  nullable,
  doc,
})

const tenantId = column('tenant_id', 'id', false, 'The tenant (repair business) that the row belongs to.')
const syncedAt = column(
  '_synced_at',
  'timestamp',
  false,
  'When the request that fetched this version was sent. The row is as the source had it then or later.',
)
const deletedAt = column(
  '_deleted_at',
  'timestamp',
  true,
  'When shopsync found the record gone from the source; null while it exists there.',
)
const unlistedAt = column(
  '_unlisted_at',
  'timestamp',
  true,
  'Since when the source has shown the record by its id but no longer in its list, such as an archived one; null otherwise.',
)
const extra = column(
  '_extra',
  'json',
  true,
  "Fields the API sent that aren't in its documentation, by path; null if there are none.",
)

/** Only if versions of the resource are kept (src/engine/model/historytable.ts). */
const seenFrom = column(
  '_seen_from',
  'timestamp',
  true,
  'When the request that first fetched this version was sent. For a row that existed before its history was kept: when it had last been seen by then.',
)

/** Columns whose value is the same in every row of a batch: apply writes them, flatten doesn't. */
export const stampColumns: ReadonlySet<string> = new Set(
  [tenantId, syncedAt, deletedAt, unlistedAt, seenFrom].map(({ name }) => name),
)

const ofField = (name: string, field: Field, nullable: boolean): Column => ({
  name,
  kind: field.kind,
  nullable,
  mayBeNull: field.nullable,
  doc: field.doc,
  values: field.values,
  references: field.references,
  personal: field.personal,
})

/** The columns of an object's own values, including nested objects, in declared order. */
const ownColumns = (fields: Shape, required: ReadonlySet<string>, prefix = ''): Column[] =>
  Object.entries(fields).flatMap(([name, member]) => {
    if (member.type === 'field') return [ofField(prefix + name, member, !required.has(prefix + name))]
    if (member.type === 'object') return ownColumns(member.fields, required, `${prefix}${name}_`)
    return []
  })

/** What an index has of an instant: its UTC day. Only made where views find rows by it. */
const utcDay = /^utc_day\((\w+)\)$/

/** The column whose UTC day an index has; undefined if it has the column itself. */
export const datedColumn = (indexed: string): string | undefined => utcDay.exec(indexed)?.[1]

const indexed = (fields: Shape): string[] =>
  Object.entries(fields).flatMap(([name, member]) => {
    if (member.type !== 'field') return []
    return [...(member.indexed ? [name] : []), ...(member.dated ? [`utc_day(${name})`] : [])]
  })

const rootTable = (resource: Resource): Table => {
  const records = resource.list === 'records'
  const key = records ? 'id' : 'name'
  return {
    name: resource.name,
    resource: resource.name,
    doc: resource.doc,
    grain: resource.grain,
    role: 'root',
    columns: [
      tenantId,
      ...ownColumns(resource.fields, new Set([key, 'updated_at'])),
      syncedAt,
      deletedAt,
      unlistedAt,
      resource.undeclared ? { ...extra, personal: resource.undeclared } : extra,
      ...addedColumns(resource),
      ...(resource.history ? [seenFrom] : []),
    ],
    key: ['tenant_id', key],
    indexes: [
      ...(records ? [['tenant_id', 'updated_at']] : []),
      ...indexed(resource.fields).map((name) => ['tenant_id', name]),
    ],
  }
}

interface Owner {
  readonly resource: Resource
  readonly rootColumn: string
  /** Owner columns below the root's, such as service_id, with the tables whose ids they hold. */
  readonly path: readonly { readonly column: string; readonly table: string }[]
  /**
   * An enclosing item that its children can't refer to, if there is one: their positions would be ambiguous between
   * several items.
   */
  readonly nameless?: string | undefined
  readonly grain: string
}

const ownerColumns = (owner: Owner): Column[] =>
  [{ column: owner.rootColumn, table: owner.resource.name }, ...owner.path].map(
    ({ column: name, table }) => ({
      ...column(
        name,
        'id',
        false,
        `Id of the ${name.replace(/_id$/, '').replaceAll('_', ' ')} it is part of.`,
      ),
      references: table,
    }),
  )

const position = column('position', 'integer', false, 'Its 0-based position in the array.')

/** The key of rows that are identified only by their owner and one column of their own. */
function placedKey(owner: Owner, table: string, column: string): string[] {
  const { resource, nameless } = owner
  if (nameless !== undefined)
    throw new Bug(
      `schema: ${resource.name}: the items of ${table} are told apart by their ${column} inside of ${nameless}, whose id they do not carry; expected an ownerColumn in ${nameless}, or key: 'id' in ${table}`,
    )
  return ['tenant_id', ...ownerColumns(owner).map(({ name }) => name), column]
}

const childrenTable = (owner: Owner, child: Children): Table => {
  const hasId = child.key === 'id'
  // A record's rows follow from that record only: an id that appears in two records is a row of each.
  return {
    name: `${owner.resource.singular}_${child.table}`,
    resource: owner.resource.name,
    doc: child.doc,
    grain: `one ${singularOf(child.table)} of ${owner.grain}`,
    role: 'child',
    columns: [
      tenantId,
      ...ownerColumns(owner),
      position,
      ...ownColumns(itemFields(child), new Set(hasId ? ['id'] : [])),
      ...computedColumns(owner.resource, child.table),
      syncedAt,
    ],
    key: hasId ? ['tenant_id', owner.rootColumn, 'id'] : placedKey(owner, child.table, 'position'),
    owner: owner.rootColumn,
    moves: child.moves ? true : undefined,
    indexes: [...(child.moves ? ['id'] : []), ...indexed(itemFields(child))].map((name) => [
      'tenant_id',
      name,
    ]),
  }
}

const scalarsTable = (owner: Owner, child: Scalars): Table => {
  const byValue = child.key === 'value'
  return {
    name: `${owner.resource.singular}_${child.table}`,
    resource: owner.resource.name,
    doc: child.doc,
    grain: `one ${child.column.replace(/_id$/, '')} of ${owner.grain}`,
    role: 'child',
    columns: [
      tenantId,
      ...ownerColumns(owner),
      position,
      ofField(child.column, child.of, !byValue),
      syncedAt,
    ],
    key: placedKey(owner, child.table, byValue ? child.column : 'position'),
    owner: owner.rootColumn,
    indexes: [],
  }
}

const childTables = (owner: Owner, fields: Shape): Table[] =>
  Object.values(fields).flatMap((member) => {
    if (member.type === 'scalars') return [scalarsTable(owner, member)]
    if (member.type !== 'many' && member.type !== 'one') return []
    return [childrenTable(owner, member), ...childTables(ownerBelow(owner, member), member.fields)]
  })

/** The owner of what is inside an item. An object that is the only one of its record needs no name. */
function ownerBelow(owner: Owner, member: Children): Owner {
  const { resource, path } = owner
  const { table, ownerColumn, key, type } = member
  const grain = `${withArticle(singularOf(table))} of ${owner.grain}`
  if (ownerColumn === undefined) return { ...owner, grain, nameless: type === 'many' ? table : undefined }
  if (key !== 'id')
    throw new Bug(
      `schema: ${resource.name}: the items of ${table} have no id that ${ownerColumn} could hold; expected key: 'id'`,
    )
  const tableName = `${resource.singular}_${table}`
  return { ...owner, grain, path: [...path, { column: ownerColumn, table: tableName }] }
}

/** A command asks for the tables of each resource ten times before it begins. */
const made = new WeakMap<Resource, Table[]>()

/** The warehouse tables of one resource: its own first, then those of its nested arrays, owners before children. */
export function tablesOf(resource: Resource): Table[] {
  const grain = withArticle(resource.singular.replaceAll('_', ' '))
  const owner = { resource, rootColumn: `${resource.singular}_id`, path: [], grain }
  if (!made.has(resource)) made.set(resource, [rootTable(resource), ...childTables(owner, resource.fields)])
  return made.get(resource) ?? []
}

/** The table for a declaration in schema/derived/. */
export function derivedTable(derived: Derived): Table {
  const { name, of, doc, grain, ownerColumn, key = [], fields, indexes = [], unique = [] } = derived
  const own = ownColumns(fields, new Set<string>([...key, ...unique]))
  const owner = {
    ...column(ownerColumn, 'id', false, 'Id of the record it is derived from.'),
    references: of,
  }
  return {
    name,
    resource: of,
    doc,
    grain,
    role: 'derived',
    columns: [tenantId, owner, ...own, syncedAt, deletedAt, unlistedAt],
    key: ['tenant_id', ownerColumn, ...key],
    owner: ownerColumn,
    indexes: indexes.map((columns) => ['tenant_id', ...columns]),
    unique,
  }
}

/** The columns of a tuple, in order: all columns except those whose values a whole batch shares. */
export const tupleColumns = (table: Table): readonly Column[] =>
  table.columns.filter((c) => !stampColumns.has(c.name))

/** The position of a column's value in the tuples of a table. -1 if it isn't there. */
export const placeOf = (table: Table, name: string): number =>
  tupleColumns(table).findIndex((c) => c.name === name)

/**
 * The columns of a nested table that follow from the whole record. In a tuple they come after all others: flatten
 * leaves them empty, and the rule of their derived table fills them (flatten/derivedvalues.ts).
 */
const computedColumns = ({ computed }: Resource, array: string) =>
  Object.entries(computed?.columns[array] ?? {}).map(([name, { kind, doc }]) => ({
    name,
    kind,
    nullable: true,
    mayBeNull: true,
    doc,
    computedBy: computed?.by ?? '',
  }))

/** The name of a record, and other fields, for views: made when the record is stored, of fields that may be in `_extra`. */
const computedNames = (resource: Resource) =>
  madeColumns(resource).map(({ name, kind, doc }) => ({
    name,
    kind,
    nullable: true,
    doc,
    computedBy: nameColumn,
  }))

/** In a tuple they come last, empty: their fields are part of `_extra`. Rows that no list shows keep their values. */
const leftColumns = ({ left = {}, undeclared: personal }: Resource) =>
  Object.entries(left).map(([name, kind]) => ({
    name,
    kind,
    nullable: true,
    doc: 'Not in the API documentation, and no longer a column by configuration: read again, a record leaves it empty.',
    personal,
    isLeft: true as const,
  }))

/** The columns of a resource's own table that no page of the source fills (`computedBy`, `isLeft`). */
const addedColumns = (resource: Resource) => [...computedNames(resource), ...leftColumns(resource)]

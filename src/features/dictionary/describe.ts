/**
 * The data dictionary: the meaning of every table and column, from the declarations. Used by `shopsync dictionary`, and by
 * the build, which writes schema/dictionary/.
 */
import { inReadingOrder } from '../../../schema/figureorder.js'
import { figures } from '../../../schema/figures/index.js'
import { derivedTables } from '../../../schema/index.js'
import { openQuestions } from '../../../schema/openquestions.js'
import { isWithheld, type Resource } from '../../../schema/resource.js'
import type { View, ViewColumn, ViewKind } from '../../../schema/view.js'
import { views } from '../../../schema/views/index.js'
import { columnTypes } from '../../engine/model/columntypes.js'
import { historyTable } from '../../engine/model/historytable.js'
import { type Column, derivedTable, type Table, tablesOf } from '../../engine/model/table.js'
import { describeFigures } from './describefigures.js'
import type {
  ColumnKind,
  Dictionary,
  DictionaryColumn,
  DictionaryExample,
  DictionaryTable,
} from './dictionary.js'
import { examplesOf } from './examples.js'
import { joinsOf } from './joins.js'

/** Column types of views: a sum of hours has room for all of them, and SQLite's booleans are declared as such. */
const viewTypes: Readonly<Record<ViewKind, { readonly postgres: string; readonly sqlite: string }>> = {
  ...columnTypes,
  hours: { postgres: 'numeric(18,9)', sqlite: 'REAL' },
  quantity: { postgres: 'numeric(18,9)', sqlite: 'REAL' },
  boolean: { postgres: 'boolean', sqlite: 'BOOLEAN' },
}

function nullsOf(column: Column): DictionaryColumn['nulls'] {
  if (!column.nullable) return 'never'
  if (column.mayBeNull === undefined) return 'yes'
  return column.mayBeNull ? 'yes' : 'only when absent or unusable'
}

const describeColumn = (column: Column): DictionaryColumn => ({
  name: column.name,
  kind: column.kind,
  ...columnTypes[column.kind],
  nullable: column.nullable,
  nulls: nullsOf(column),
  unit: unitOf(column.name, column.kind),
  description: column.doc,
  values: column.values,
  references: column.references,
  personal: isWithheld(column.personal) || undefined,
})

/**
 * The product's own tables and those of its views are recognized by their names. Tenants are data, although no list of
 * records contains them. The remaining tables of the product are derived from the records.
 */
function partOf({ name, role }: Table, resource: Resource | undefined): DictionaryTable['part'] {
  if (resource === undefined)
    return /^(sync|report)_/.test(name) ? 'state' : name === 'tenants' ? 'resource' : 'derived'
  return role === 'root' ? 'resource' : role === 'history' ? 'derived' : role
}

/** A table by itself, without what depends on its neighbors. Views have the examples that their authors chose. */
type Alone = Omit<DictionaryTable, 'joins' | 'examples'> & Partial<Pick<DictionaryTable, 'examples'>>

const describeTable = (table: Table, resource: Resource | undefined): Alone => ({
  name: table.name,
  part: partOf(table, resource),
  resource: table.resource,
  description: table.doc,
  grain: resource === undefined ? `one row per ${table.key.join(', ')}` : table.grain,
  source: resource?.source ?? '',
  documented: resource?.documented ?? true,
  key: table.key,
  indexes: table.indexes,
  columns: table.columns.map(describeColumn),
})

const describeViewColumn = ([name, column]: [string, ViewColumn]): DictionaryColumn => ({
  name,
  kind: column.kind,
  ...viewTypes[column.kind],
  nullable: column.isAlways !== true,
  nulls: column.isAlways ? 'never' : 'yes',
  unit: column.unit ?? unitOf(name, column.kind),
  description: column.doc,
  references: column.references,
  personal: column.personal ? true : undefined,
  unique: column.isUnique ? true : undefined,
  as_stored: column.asStored ? true : undefined,
})

const keyOf = ({ columns }: View): string[] =>
  Object.keys(columns)
    .filter((name) => columns[name]?.isUnique)
    .slice(0, 1)

const describeView = (view: View): Alone => ({
  name: view.name,
  part: 'view',
  resource: '',
  description: view.doc,
  grain: view.grain,
  source: '',
  documented: true,
  key: keyOf(view),
  indexes: [],
  columns: Object.entries(view.columns).map(describeViewColumn),
  examples: [{ title: 'To start with', sql: view.example }],
})

/** Joins and examples need all tables, since they refer to other tables. */
function connected(alone: readonly Alone[]): DictionaryTable[] {
  const known = new Map(alone.map((table) => [table.name, table]))
  const joined = alone.map((table) => ({ ...table, joins: joinsOf(table, known) }))
  const byName = new Map(joined.map((table) => [table.name, table]))
  return joined.map((table) => ({ ...table, examples: table.examples ?? examplesOf(table, byName) }))
}

/** `resources`: as declared, or as extended by the configuration; `own`: the product's own tables. */
export function describeModel(resources: Iterable<Resource>, own: readonly Table[]): Dictionary {
  const all = [...resources]
  const ofResources = all.flatMap((resource) =>
    tablesOf(resource).map((table) => describeTable(table, resource)),
  )
  const derived = Object.values(derivedTables).flatMap((declared) => {
    const resource = all.find(({ name }) => name === declared.of)
    return resource
      ? [{ ...describeTable(derivedTable(declared), resource), source: '', documented: true }]
      : []
  })
  const histories = all.flatMap((resource) => {
    const table = historyTable(resource)
    return table ? [{ ...describeTable(table, resource), examples: asOfExamples(table, resource) }] : []
  })
  const state = own.map((table) => describeTable(table, undefined))
  const tables = connected([...views.map(describeView), ...derived, ...histories, ...ofResources, ...state])
  const columns = new Map(views.map((view) => [view.name, Object.keys(view.columns)]))
  return { tables, figures: describeFigures(inReadingOrder(figures), columns), questions: openQuestions }
}

/** The unit of a kind of column, if the kind determines it. */
const byKind: Partial<Record<ColumnKind, string>> = {
  cents: 'cents',
  timestamp: 'UTC instant',
  day: 'shop day',
  hours: 'hours',
}

/** The unit of a number, by its name: names from the API, and from derived tables and views. */
const byName: readonly (readonly [RegExp, string])[] = [
  [/(^|_)hours$/, 'hours'],
  [/(^|_)minutes(_|$)/, 'minutes'],
  [/_ms$/, 'milliseconds'],
  [/_us$/, 'microseconds'],
  [/(^|_)(percent|percentage)$|_tax_rate$/, 'percent'],
  [/(^|_)quantity(_|$)|^(min|max)_stock$/, 'units'],
  [/^days$/, 'days'],
]

/** A column's unit; empty if its values count nothing, such as ids and texts. */
function unitOf(name: string, kind: ColumnKind): string {
  const fixed = byKind[kind]
  if (fixed !== undefined) return fixed
  if (kind !== 'number' && kind !== 'integer') return ''
  return byName.find(([ending]) => ending.test(name))?.[1] ?? ''
}

/** A value by which people recognize a record: the first that isn't an id, a time or JSON. */
const telling = ({ columns }: Table): string[] =>
  columns
    .filter(
      ({ name, kind, references }) =>
        kind !== 'json' && !references && !/^_|(^|_)(id|at|from|to)$/.test(name),
    )
    .slice(0, 3)
    .map(({ name }) => name)

/** The versions that were in the warehouse at an instant: ended ones, and the current ones. */
function asOf({ name }: Table, root: Table, instant: string): string {
  const columns = ['tenant_id', 'id', 'updated_at', ...telling(root)].join(', ')
  return [
    `select ${columns}, _seen_from, _seen_to from ${name}`,
    `where _seen_from <= '${instant}' and _seen_to > '${instant}'`,
    'union all',
    `select ${columns}, _seen_from, null from ${root.name}`,
    `where _seen_from <= '${instant}' and _deleted_at is null`,
  ].join('\n')
}

const anInstant = '2026-01-31T00:00:00.000000Z'

function asOfExamples(table: Table, resource: Resource): DictionaryExample[] {
  const [root] = tablesOf(resource)
  if (!root) return []
  return [
    {
      title: `As the warehouse had them at a moment in UTC (for one record, add "and tenant_id = … and id = …")`,
      sql: `${asOf(table, root, anInstant)}\norder by tenant_id, id\nlimit 10`,
    },
    {
      title: 'The history of a record: every version seen, the current one last',
      sql: [
        `select tenant_id, id, _valid_from, _seen_from, _seen_to, _ended_by from ${table.name}`,
        'union all',
        `select tenant_id, id, updated_at, _seen_from, null, 'present' from ${root.name} where _deleted_at is null`,
        'order by tenant_id, id, _seen_from',
        'limit 10',
      ].join('\n'),
    },
  ]
}

/**
 * A `sources.yml` for dbt: the data tables with their columns, types and descriptions, and the tests that hold in every
 * warehouse. Differences between databases come as a `BiTools` from the dialect's folder.
 */
import { stringify } from 'yaml'
import { derivedTables } from '../../../schema/index.js'
import type { BiTools } from '../../engine/warehouse/views/bitools.js'
import type { Dictionary, DictionaryColumn, DictionaryJoin, DictionaryTable } from './dictionary.js'
import { dataTables } from './dictionary.js'
import { generatedBy } from './folder.js'
import { namingColumn } from './joins.js'

export interface DbtOptions extends BiTools {
  /** After how many hours dbt warns that a table is behind. */
  readonly staleHours: number
}

/**
 * One text for a key of several columns: dbt's own tests only know single columns. A null makes the whole text null.
 */
const asOneText = (columns: readonly string[]): string =>
  columns.map((column) => `"${column.replaceAll('"', '""')}"`).join(" || '-' || ")

const sourceName = 'shopsync'
export const viewsSource = `${sourceName}_analytics`

const uniqueTest = ({ name, key }: DictionaryTable) => ({
  unique: { name: `${name}_key_is_unique`, arguments: { column_name: asOneText(key) } },
})

/**
 * Only a warning: a record may refer to one that was created after its own list was read, and lists with undocumented
 * paths may be empty.
 */
const relationshipsTest = ({ name }: DictionaryTable, join: DictionaryJoin) => ({
  relationships: {
    name: `${name}_${namingColumn(join)}_is_known`,
    arguments: {
      column_name: asOneText(join.columns),
      to: `source('${sourceName}', '${join.table}')`,
      field: asOneText(join.to),
    },
    config: { severity: 'warn' },
  },
})

const sentences = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join(' ')

const columnEntry = (column: DictionaryColumn, options: DbtOptions, isTested: boolean) => ({
  name: column.name,
  description: sentences(
    column.description,
    column.unit === '' ? '' : `Unit: ${column.unit}.`,
    column.values ? `Values: ${column.values.join(', ')}.` : '',
  ),
  data_type: options.typeOf(column),
  data_tests: isTested ? ['not_null'] : undefined,
})

/**
 * Only tables of a list have a freshness: dbt warns at each parse of every table that inherits one and that it can't ask
 * for it.
 */
function tableEntry(table: DictionaryTable, shown: ReadonlySet<string>, options: DbtOptions) {
  const asked = table.resource === '' ? undefined : options.completeThrough?.(table.resource)
  return {
    name: table.name,
    description: sentences(table.description, `Grain: ${table.grain}.`),
    config: asked !== undefined ? { loaded_at_query: asked, freshness: freshnessOf(options) } : undefined,
    data_tests: [
      uniqueTest(table),
      ...table.joins.filter((join) => shown.has(join.table)).map((join) => relationshipsTest(table, join)),
    ],
    columns: table.columns.map((column) => columnEntry(column, options, column.nulls === 'never')),
  }
}

const hours = (count: number) => ({ count, period: 'hour' })

const freshnessOf = ({ staleHours }: DbtOptions) => ({
  warn_after: hours(staleHours),
  error_after: hours(3 * staleHours),
})

/**
 * The views have their own schema. Only their keys are tested. Each test reads a whole view; a view's references are
 * made from the keys they refer to; and its SQL ensures that its other columns are never null.
 */
const viewEntry = (view: DictionaryTable, options: DbtOptions) => ({
  name: view.name,
  description: sentences(view.description, `Grain: ${view.grain}.`),
  data_tests: view.part === 'view' && view.key.length > 0 ? [uniqueTest(view)] : undefined,
  columns: view.columns.map((column) => columnEntry(column, options, column.unique === true)),
})

/** The relations that analysts read: the views, and the tables with a view-like name among them. */
export const forAnalysts = ({ tables }: Dictionary): DictionaryTable[] => {
  const shown = ['daily_snapshots', ...Object.keys(derivedTables)]
  return tables.filter(({ part, name }) => part === 'view' || shown.includes(name))
}

export function toDbt(dictionary: Dictionary, options: DbtOptions): string {
  const tables = dataTables(dictionary)
  const shown = new Set(tables.map(({ name }) => name))
  const ofTables = {
    name: sourceName,
    description: 'The Repair-Shop Management API, as shopsync copies it.',
    schema: options.schema,
    tables: tables.map((table) => tableEntry(table, shown, options)),
  }
  const ofViews = {
    name: viewsSource,
    description: "Live rows with names and days in the shops' time zones, for people and BI tools.",
    schema: options.views,
    tables: forAnalysts(dictionary).map((view) => viewEntry(view, options)),
  }
  const head = `# ${generatedBy}\n`
  const document = { version: 2, sources: [ofTables, ofViews] }
  return head + stringify(document, { lineWidth: 110, aliasDuplicateObjects: false })
}

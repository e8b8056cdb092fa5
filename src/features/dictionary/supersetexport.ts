/**
 * Datasets for Apache Superset: one for each view and for the tables among them, with the settings that Superset can't
 * detect. Differences between databases come as a `SupersetTarget` from the dialect's folder.
 */
import { createHash } from 'node:crypto'
import { strToU8, zipSync } from 'fflate'
import { stringify } from 'yaml'
import type { SupersetTarget } from '../../engine/warehouse/bitools.js'
import type { Dictionary, DictionaryColumn, DictionaryTable } from './dictionary.js'
import { supersetMetrics } from './supersetmetrics.js'

/** The same warehouse and view get the same id in every import, so a later import replaces them. */
function uuidOf(...names: readonly string[]): string {
  const digits = createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 32).split('')
  digits[12] = '8'
  digits[16] = 'a'
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function columnOf(column: DictionaryColumn, table: DictionaryTable, target: SupersetTarget) {
  const time = target.timeOf(column, table)
  return {
    column_name: column.name,
    description: column.unit === '' ? column.description : `${column.description} Unit: ${column.unit}.`,
    type: target.typeOf(column),
    is_dttm: time !== undefined,
    python_date_format: time?.format ?? null,
    is_active: true,
    groupby: true,
    filterable: true,
  }
}

function datasetOf(table: DictionaryTable, target: SupersetTarget, database: string) {
  const columns = table.columns.map((column) => columnOf(column, table, target))
  return {
    table_name: table.name,
    main_dttm_col: columns.find(({ is_dttm }) => is_dttm)?.column_name ?? null,
    description: `${table.description} Grain: ${table.grain}.`,
    schema: target.schema,
    uuid: uuidOf(target.uri, target.schema, table.name),
    database_uuid: database,
    version: '1.0.0',
    metrics: supersetMetrics(table),
    columns,
  }
}

/** An archive that Superset imports as it is, by file name and content. */
function supersetFiles({ tables }: Dictionary, target: SupersetTarget): Record<string, string> {
  const yaml = (content: object): string => stringify(content, { lineWidth: 0, aliasDuplicateObjects: false })
  const database = uuidOf(target.uri)
  const datasets = tables
    .filter(({ part }) => part === 'view' || part === 'derived')
    .map((table) => [
      `shopsync/datasets/shopsync/${table.name}.yaml`,
      yaml(datasetOf(table, target, database)),
    ])
  return {
    'shopsync/metadata.yaml': yaml({ version: '1.0.0', type: 'SqlaTable' }),
    'shopsync/databases/shopsync.yaml': yaml({
      database_name: target.name,
      sqlalchemy_uri: target.uri,
      expose_in_sqllab: true,
      allow_dml: false,
      extra: { allows_virtual_table_explore: true },
      uuid: database,
      version: '1.0.0',
    }),
    ...Object.fromEntries(datasets),
  }
}

/**
 * The first day that ZIP archives can represent, in local time as fflate reads it: the same files give the same
 * archive.
 */
const mtime = new Date(1980, 0, 1)

/** The files without compression: a few hundred kilobytes that are imported once. */
export function toSuperset(dictionary: Dictionary, target: SupersetTarget): Buffer {
  const files = Object.entries(supersetFiles(dictionary, target)).map(([name, text]) => [name, strToU8(text)])
  return Buffer.from(zipSync(Object.fromEntries(files), { level: 0, mtime }))
}

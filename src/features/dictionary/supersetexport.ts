/**
 * Datasets for Apache Superset: one for each view and for the tables among them, and one for each other day that dates figures, with the settings that Superset can't
 * detect. Differences between databases come as a `BiTools` from the dialect's folder.
 */
import { createHash } from 'node:crypto'
import { strToU8, zipSync } from 'fflate'
import { stringify } from 'yaml'
import type { BiTools } from '../../engine/warehouse/views/bitools.js'
import type { Dictionary, DictionaryColumn, DictionaryTable } from './dictionary.js'
import { dayColumnsOf, supersetMetrics } from './supersetmetrics.js'

/** The same warehouse and view get the same id in every import, so a later import replaces them. */
function uuidOf(...names: readonly string[]): string {
  const digits = createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 32).split('')
  digits[12] = '8'
  digits[16] = 'a'
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Dates the rows of a view by months, which also has a day that describes its shop. */
const monthColumn = 'month_start'

function columnOf(column: DictionaryColumn, table: DictionaryTable, target: BiTools) {
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

/**
 * Charts are dated by the dataset's main time column, so figures of another day are in a dataset of their own: by the
 * day they were closed, all orders have been started.
 */
function datasetOf(
  table: DictionaryTable,
  day: string | undefined,
  isFirst: boolean,
  target: BiTools,
  database: string,
) {
  const columns = table.columns.map((column) => columnOf(column, table, target))
  const times = columns.flatMap((column) => (column.is_dttm ? [column.column_name] : []))
  const name = isFirst ? table.name : `${table.name}_by_${day}`
  return {
    table_name: name,
    sql: isFirst ? undefined : `select * from ${table.name}`,
    main_dttm_col: day ?? times.find((time) => time === monthColumn) ?? times[0] ?? null,
    description: `${table.description} Grain: ${table.grain}.`,
    schema: target.views,
    uuid: uuidOf(target.uri, target.views, name),
    database_uuid: database,
    version: '1.0.0',
    metrics: supersetMetrics(table, day),
    columns,
  }
}

/** An archive that Superset imports as it is, by file name and content. */
function supersetFiles({ tables }: Dictionary, target: BiTools): Record<string, string> {
  const yaml = (content: object): string => stringify(content, { lineWidth: 0, aliasDuplicateObjects: false })
  const database = uuidOf(target.uri)
  const datasets = tables
    .filter(({ part }) => part === 'view' || part === 'derived')
    .flatMap((table) =>
      dayColumnsOf(table.name).map((day, i) => datasetOf(table, day, i === 0, target, database)),
    )
    .map((dataset) => [`shopsync/datasets/shopsync/${dataset.table_name}.yaml`, yaml(dataset)])
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
export function toSuperset(dictionary: Dictionary, target: BiTools): Buffer {
  const files = Object.entries(supersetFiles(dictionary, target)).map(([name, text]) => [name, strToU8(text)])
  return Buffer.from(zipSync(Object.fromEntries(files), { level: 0, mtime }))
}

/**
 * The data dictionary: the meaning of every table and column, from the declarations. Used by `shopsync dictionary`, and
 * by the build, which writes schema/dictionary.md.
 */
import { derivedTables } from '../../schema/index.js'
import type { Kind, Resource } from '../../schema/resource.js'
import { stateTableList } from './state.js'
import type { Column, Table } from './tables.js'
import { derivedTable, tablesOf } from './tables.js'

export interface DictionaryColumn {
  readonly name: string
  readonly kind: Kind
  readonly postgres: string
  readonly sqlite: string
  readonly nullable: boolean
  /** When the value is null, in words. */
  readonly nulls: string
  readonly description: string
  readonly values?: readonly string[]
  readonly references?: string
}

export interface DictionaryTable {
  readonly name: string
  readonly part: 'resource' | 'child' | 'derived' | 'state'
  /** The resource that the table belongs to; empty for the product's own tables. */
  readonly resource: string
  readonly description: string
  readonly grain: string
  /** The section of the API's document that shows the resource; empty for the product's own tables. */
  readonly source: string
  /** false: the document refers to the resource but does not show its path. */
  readonly documented: boolean
  readonly key: readonly string[]
  readonly indexes: readonly (readonly string[])[]
  readonly columns: readonly DictionaryColumn[]
}

export interface Dictionary {
  readonly tables: readonly DictionaryTable[]
}

/** Column types by kind. */
export const columnTypes: Readonly<Record<Kind, { readonly postgres: string; readonly sqlite: string }>> = {
  id: { postgres: 'bigint', sqlite: 'INTEGER' },
  integer: { postgres: 'bigint', sqlite: 'INTEGER' },
  cents: { postgres: 'bigint', sqlite: 'INTEGER' },
  number: { postgres: 'numeric', sqlite: 'REAL' },
  boolean: { postgres: 'boolean', sqlite: 'INTEGER' },
  text: { postgres: 'text', sqlite: 'TEXT' },
  timestamp: { postgres: 'timestamptz', sqlite: 'TEXT' },
  json: { postgres: 'jsonb', sqlite: 'TEXT' },
  // Text all the same: clients take the column for one of days, and order and ranges are those of the text.
  day: { postgres: 'date', sqlite: 'DATE' },
}

function nullsOf(column: Column): string {
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
  description: column.doc,
  ...(column.values ? { values: column.values } : {}),
  ...(column.references ? { references: column.references } : {}),
})

function partOf({ role }: Table, resource: Resource | undefined): DictionaryTable['part'] {
  if (resource === undefined) return 'state'
  return role === 'root' ? 'resource' : role
}

const describeTable = (table: Table, resource: Resource | undefined): DictionaryTable => ({
  name: table.name,
  part: partOf(table, resource),
  resource: table.resource,
  description: table.doc,
  grain: resource === undefined ? `one row for each ${table.key.join(', ')}` : table.grain,
  source: resource?.source ?? '',
  documented: resource?.documented ?? true,
  key: table.key,
  indexes: table.indexes,
  columns: table.columns.map(describeColumn),
})

/** `resources`: as declared, or as the configuration extends them. */
export function describeModel(resources: Iterable<Resource>): Dictionary {
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
  const state = stateTableList.map((table) => describeTable(table, undefined))
  return { tables: [...ofResources, ...derived, ...state] }
}

const inCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text: string): string => `\`${text}\``

function details(column: DictionaryColumn): string {
  const values = column.values ? ` Values: ${column.values.map(code).join(', ')}.` : ''
  const refers = column.references ? ` Refers to ${code(column.references)}.` : ''
  return inCell(column.description + values + refers)
}

/** A Markdown table with aligned columns, which is readable as plain text too. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const [head = [], ...body] = rows
  const widths = head.map((_, i) => Math.max(3, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)]
}

function tableMarkdown(table: DictionaryTable): string[] {
  const undocumented = table.documented
    ? ''
    : ' The document refers to this resource without showing its path; its path follows the convention of the others.'
  const origin = table.source === '' ? '' : ` From the API document, ${table.source}.`
  return [
    `### ${table.name}`,
    '',
    `${table.description}${origin}${undocumented}`,
    '',
    `- Grain: ${table.grain}.`,
    `- Key: ${table.key.map(code).join(', ')}.`,
    ...table.indexes.map((index) => `- Index: ${index.map(code).join(', ')}.`),
    '',
    ...aligned([
      ['Column', 'Kind', 'Postgres', 'SQLite', 'Null', 'Description'],
      ...table.columns.map((c) => [code(c.name), c.kind, c.postgres, c.sqlite, c.nulls, details(c)]),
    ]),
    '',
  ]
}

/** The parts of the dictionary, in the order in which people look tables up. */
export const parts = [
  ['resource', 'Tables of resources'],
  ['child', 'Tables of nested arrays'],
  ['derived', 'Tables that follow from others'],
  ['state', "The product's own tables"],
] as const

export const introduction = [
  'Money is in integer cents (kind `cents`). Timestamps are UTC; in SQLite they are text, ' +
    '`YYYY-MM-DDTHH:MM:SS.ffffffZ`, whose order is the order of time. Booleans are 0 and 1 in SQLite, JSON is text there.',
  'Rows of records that no longer exist at the source stay, with `_deleted_at` set; rows of nested arrays have no such ' +
    'column, join them to their owner. Enumerations can hold values that are not listed here.',
]

export function toMarkdown({ tables }: Dictionary): string {
  const lines = [
    '# Data dictionary',
    '',
    'GENERATED from the declarations in `schema/` by `npm run build`.',
    '',
  ]
  lines.push(...introduction.flatMap((paragraph) => [paragraph, '']))
  for (const [part, title] of parts) {
    const own = tables.filter((table) => table.part === part)
    lines.push(`## ${title}`, '', ...own.flatMap(tableMarkdown))
  }
  return `${lines.join('\n').trimEnd()}\n`
}

/** The data tables as DBML, which dbdiagram.io and other tools draw. Types are those of Postgres. */
import type { Dictionary, DictionaryColumn, DictionaryJoin, DictionaryTable } from './dictionary.js'
import { dataTables, parts, questionsAbout, questionsTitle } from './dictionary.js'

const quoted = (name: string): string => `"${name.replaceAll('"', "'")}"`
const note = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', ' ')}'`
const tuple = (columns: readonly string[]): string =>
  columns.length === 1 ? quoted(columns[0] ?? '') : `(${columns.map(quoted).join(', ')})`

function columnLine(column: DictionaryColumn): string {
  const unit = column.unit === '' ? '' : ` [${column.unit}]`
  const values = column.values ? ` Values: ${column.values.join(', ')}.` : ''
  const settings = [
    ...(column.nullable ? [] : ['not null']),
    `note: ${note(column.description + unit + values)}`,
  ]
  return `  ${quoted(column.name)} ${column.postgres} [${settings.join(', ')}]`
}

function tableBlock(table: DictionaryTable): string {
  const indexes = table.indexes.map((columns) => `    ${tuple(columns)}`)
  return [
    `Table ${quoted(table.name)} {`,
    ...table.columns.map(columnLine),
    '',
    '  indexes {',
    `    ${tuple(table.key)} [pk]`,
    ...indexes,
    '  }',
    '',
    `  Note: ${note(`${table.description} Grain: ${table.grain}.`)}`,
    '}',
    '',
  ].join('\n')
}

const reference = (from: DictionaryTable, { table, columns, to }: DictionaryJoin): string =>
  `Ref: ${quoted(from.name)}.${tuple(columns)} > ${quoted(table)}.${tuple(to)}`

/** A sticky note of the diagram. */
const questionsNote = ({ questions }: Dictionary): string =>
  [
    'Note open_questions {',
    `  ${note([`${questionsTitle}. ${questionsAbout}`, ...questions.map(({ question, answer, setting }) => `${question}: ${answer}${setting === undefined ? '' : ` (${setting})`}`)].join(' ◆ '))}`,
    '}',
    '',
  ].join('\n')

export function toDbml(dictionary: Dictionary): string {
  const tables = dataTables(dictionary)
  const shown = new Set(tables.map(({ name }) => name))
  const groups = parts.flatMap(([part, title]) => {
    const own = tables.filter((table) => table.part === part).map(({ name }) => `  ${quoted(name)}`)
    return own.length === 0 ? [] : [[`TableGroup ${quoted(title)} {`, ...own, '}', ''].join('\n')]
  })
  const references = tables.flatMap((table) =>
    table.joins.filter((join) => shown.has(join.table)).map((join) => reference(table, join)),
  )
  return [
    "Project shopsync {\n  database_type: 'PostgreSQL'\n}\n",
    ...tables.map(tableBlock),
    ...groups,
    questionsNote(dictionary),
    ...references,
    '',
  ].join('\n')
}

/** The data tables as an entity-relationship diagram of Mermaid: keys and references, so that it can be drawn at all. */

import type { Dictionary, DictionaryColumn, DictionaryTable } from './dictionary.js'
import { dataTables } from './dictionary.js'
import { namingColumn } from './joins.js'

/** Mermaid reads letters, digits and `_` alone in the name of an attribute. */
const word = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, '_')
const text = (words: string): string => `"${words.replaceAll('"', "'").replaceAll(/\s+/g, ' ')}"`

/** Keys, references and money: with every column the diagram would be longer than any screen. */
const isShown = ({ key }: DictionaryTable, { name, references, kind }: DictionaryColumn): boolean =>
  key.includes(name) || references !== undefined || kind === 'cents'

function attribute(table: DictionaryTable, column: DictionaryColumn): string {
  const marks = [
    ...(table.key.includes(column.name) ? ['PK'] : []),
    ...(column.references === undefined ? [] : ['FK']),
  ]
  const keys = marks.length === 0 ? '' : ` ${marks.join(', ')}`
  return `    ${column.postgres} ${word(column.name)}${keys} ${text(column.description)}`
}

const entity = (table: DictionaryTable): string =>
  [
    `  ${word(table.name)} {`,
    ...table.columns.filter((column) => isShown(table, column)).map((column) => attribute(table, column)),
    '  }',
  ].join('\n')

/** A row that must name another has exactly one; a column that may be null has one or none. */
function relations(table: DictionaryTable, shown: ReadonlySet<string>): string[] {
  return table.joins
    .filter((join) => shown.has(join.table))
    .map((join) => {
      const name = namingColumn(join)
      const column = table.columns.find((candidate) => candidate.name === name)
      const one = column?.nullable === false ? '||' : '|o'
      return `  ${word(join.table)} ${one}--o{ ${word(table.name)} : ${text(name)}`
    })
}

export function toMermaid(dictionary: Dictionary): string {
  const tables = dataTables(dictionary)
  const shown = new Set(tables.map(({ name }) => name))
  const lines = ['erDiagram', ...tables.map(entity), ...tables.flatMap((table) => relations(table, shown))]
  return `${lines.join('\n')}\n`
}

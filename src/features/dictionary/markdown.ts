/** The dictionary as Markdown, as it is committed in schema/dictionary.md. */
import type { Dictionary, DictionaryColumn, DictionaryTable } from './dictionary.js'
import { parts, questionsAbout, questionsTitle } from './dictionary.js'

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
    ...(table.key.length === 0 ? [] : [`- Key: ${table.key.map(code).join(', ')}.`]),
    ...table.indexes.map((index) => `- Index: ${index.map(code).join(', ')}.`),
    '',
    ...aligned([
      ['Column', 'Kind', 'Postgres', 'SQLite', 'Null', 'Description'],
      ...table.columns.map((c) => [code(c.name), c.kind, c.postgres, c.sqlite, c.nulls, details(c)]),
    ]),
    '',
  ]
}

const introduction = [
  'Money is in integer cents (kind `cents`). Timestamps are UTC; in SQLite they are text, ' +
    '`YYYY-MM-DDTHH:MM:SS.ffffffZ`, whose order is the order of time. Booleans are 0 and 1 in SQLite, JSON is text there.',
  'Rows of records that no longer exist at the source stay, with `_deleted_at` set; rows of nested arrays have no such ' +
    'column, join them to their owner. Enumerations can hold values that are not listed here.',
]

const questionsMarkdown = (questions: Dictionary['questions']): string[] => [
  `## ${questionsTitle}`,
  '',
  questionsAbout,
  '',
  ...aligned([
    ['Question', 'What shopsync does', 'Setting'],
    ...questions.map(({ question, answer, setting }) => [
      inCell(question),
      inCell(answer),
      setting === undefined ? '' : code(setting),
    ]),
  ]),
  '',
]

export function toMarkdown({ tables, questions }: Dictionary): string {
  const lines = [
    '# Data dictionary',
    '',
    'GENERATED from the declarations in `schema/` by `npm run build`.',
    '',
  ]
  lines.push(...introduction.flatMap((paragraph) => [paragraph, '']), ...questionsMarkdown(questions))
  for (const [part, title] of parts) {
    const own = tables.filter((table) => table.part === part)
    lines.push(`## ${title}`, '', ...own.flatMap(tableMarkdown))
  }
  return `${lines.join('\n').trimEnd()}\n`
}

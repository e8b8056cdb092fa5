/**
 * The dictionary as Markdown: one document, or a folder with a page for each relation, as it is committed in
 * schema/dictionary.
 */

import type { Dictionary, DictionaryColumn, DictionaryExample, DictionaryTable } from './dictionary.js'
import { firstSentence, originOf, parts, questionsAbout, questionsTitle } from './dictionary.js'
import { generatedBy } from './folder.js'
import type { Incoming } from './joins.js'
import { incomingJoins, namingColumn } from './joins.js'

const inCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text: string): string => `\`${text}\``

/** Where a relation is told of: on its page, or under its head. */
type Place = (relation: string) => string

/** What the text of one relation needs to know of the others. */
interface Around {
  readonly known: ReadonlySet<string>
  readonly incoming: ReadonlyMap<string, readonly Incoming[]>
  readonly placeOf: Place
}

const linkTo = (name: string, { known, placeOf }: Around, text = name): string =>
  known.has(name) ? `[${text}](${placeOf(name)})` : code(text)

function details(column: DictionaryColumn, around: Around): string {
  const values = column.values ? ` Values: ${column.values.map(code).join(', ')}.` : ''
  const refers = column.references ? ` Refers to ${linkTo(column.references, around)}.` : ''
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

function joinFacts(table: DictionaryTable, around: Around): string[] {
  const out = table.joins.map(
    (join) => `${code(join.columns.join(', '))} → ${linkTo(join.table, around)} (${join.to.join(', ')})`,
  )
  const back = (around.incoming.get(table.name) ?? []).map(({ from, join }) =>
    linkTo(from.name, around, `${from.name}.${namingColumn(join)}`),
  )
  return [
    ...(out.length === 0 ? [] : [`- Joins to: ${out.join('; ')}.`]),
    ...(back.length === 0 ? [] : [`- Joined by: ${back.join(', ')}.`]),
  ]
}

const example = ({ title, sql }: DictionaryExample): string[] => [`${title}:`, '', '```sql', sql, '```', '']

/** What stands under the head of a relation. */
const relationMarkdown = (table: DictionaryTable, around: Around): string[] => [
  `${table.description}${originOf(table)}`,
  '',
  `- Grain: ${table.grain}.`,
  ...(table.key.length === 0 ? [] : [`- Key: ${table.key.map(code).join(', ')}.`]),
  ...table.indexes.map((index) => `- Index: ${index.map(code).join(', ')}.`),
  ...joinFacts(table, around),
  '',
  ...aligned([
    ['Column', 'Kind', 'Unit', 'Postgres', 'SQLite', 'Null', 'Description'],
    ...table.columns.map((c) => [
      ...[code(c.name), c.kind, c.unit, c.postgres, c.sqlite, c.nulls],
      details(c, around),
    ]),
  ]),
  '',
  ...table.examples.flatMap(example),
]

const introduction = [
  'Money is in integer cents (kind `cents`). Timestamps are UTC; in SQLite they are text, ' +
    '`YYYY-MM-DDTHH:MM:SS.ffffffZ`, whose order is the order of time. Booleans are 0 and 1 in SQLite, JSON is text there.',
  'Rows of records that no longer exist at the source stay, with `_deleted_at` set; rows of nested arrays have no such ' +
    'column, join them to their owner. Enumerations can hold values that are not listed here.',
  'Null: *never* means that no row lacks the value; *only when absent or unusable*, that the API always has one, so that ' +
    'null means that a record lacked it or that it could not be stored; *yes*, that null means what the text says.',
].flatMap((paragraph) => [paragraph, ''])

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

const aroundOf = (tables: readonly DictionaryTable[], placeOf: Place): Around => ({
  known: new Set(tables.map(({ name }) => name)),
  incoming: incomingJoins(tables),
  placeOf,
})

const whole = (lines: readonly string[]): string => `${lines.join('\n').trimEnd()}\n`

/** One document. */
export function toMarkdown({ tables, questions }: Dictionary): string {
  const around = aroundOf(tables, (name) => `#${name}`)
  return whole([
    '# Data dictionary',
    '',
    ...introduction,
    ...questionsMarkdown(questions),
    ...parts.flatMap(([part, title]) => [
      `## ${title}`,
      '',
      ...tables
        .filter((table) => table.part === part)
        .flatMap((table) => [`### ${table.name}`, '', ...relationMarkdown(table, around)]),
    ]),
  ])
}

const mark = [`<!-- ${generatedBy} -->`, '']

/** A page for each relation, and README.md with what holds for all and the way to each; by name of the file. */
export function toMarkdownPages({ tables, questions }: Dictionary): Record<string, string> {
  const around = aroundOf(tables, (name) => `${name}.md`)
  const listed = parts.flatMap(([part, title]) => [
    `## ${title}`,
    '',
    ...aligned([
      ['Relation', 'One row is', 'What it holds'],
      ...tables
        .filter((table) => table.part === part)
        .map((table) => [
          linkTo(table.name, around),
          inCell(table.grain),
          inCell(firstSentence(table.description)),
        ]),
    ]),
    '',
  ])
  const pages = tables.map((table) => [
    `${table.name}.md`,
    whole([...mark, `# ${table.name}`, '', ...relationMarkdown(table, around), `[All relations](README.md)`]),
  ])
  return {
    'README.md': whole([
      ...mark,
      '# Data dictionary',
      '',
      ...introduction,
      ...listed,
      ...questionsMarkdown(questions),
    ]),
    ...Object.fromEntries(pages),
  }
}

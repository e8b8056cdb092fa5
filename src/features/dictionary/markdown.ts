/**
 * The dictionary as Markdown: one document, or a folder with one page per relation, as committed in schema/dictionary.
 */

import type {
  Dictionary,
  DictionaryColumn,
  DictionaryExample,
  DictionaryFigure,
  DictionaryTable,
} from './dictionary.js'
import {
  dataTables,
  figureFacts,
  figuresAbout,
  figuresTitle,
  firstSentence,
  originOf,
  parts,
  questionsAbout,
  questionsTitle,
} from './dictionary.js'
import { generatedBy } from './folder.js'
import type { Incoming } from './joins.js'
import { incomingJoins, namingColumn } from './joins.js'

const inCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text: string): string => `\`${text}\``

/** Where a relation is described: on its own page, or under its heading. */
type Place = (relation: string) => string

/** What the text about one relation has to know of the others. */
interface Around {
  readonly figures: readonly DictionaryFigure[]
  readonly known: ReadonlySet<string>
  readonly incoming: ReadonlyMap<string, readonly Incoming[]>
  readonly placeOf: Place
  readonly placeOfFigure: Place
}

const linkTo = (name: string, { known, placeOf }: Around, text = name): string =>
  known.has(name) ? `[${text}](${placeOf(name)})` : code(text)

const linkToFigure = ({ name, label }: DictionaryFigure, { placeOfFigure }: Around): string =>
  `[${label}](${placeOfFigure(name)})`

function details(column: DictionaryColumn, around: Around): string {
  const values = column.values ? ` Values: ${column.values.map(code).join(', ')}.` : ''
  const refers = column.references ? ` Refers to ${linkTo(column.references, around)}.` : ''
  return inCell(column.description + values + refers + (column.personal ? ' Personal.' : ''))
}

/** A Markdown table with aligned columns, readable as plain text too. */
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
  const resting = around.figures
    .filter(({ relation }) => relation === table.name)
    .map((figure) => linkToFigure(figure, around))
  return [
    ...(out.length === 0 ? [] : [`- Joins to: ${out.join('; ')}.`]),
    ...(back.length === 0 ? [] : [`- Joined by: ${back.join(', ')}.`]),
    ...(resting.length === 0 ? [] : [`- Figures: ${resting.join(', ')}.`]),
  ]
}

const example = ({ title, sql }: DictionaryExample): string[] => [`${title}:`, '', '```sql', sql, '```', '']

/** The text under a relation's heading. */
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

/** The text under a figure's heading. */
const figureMarkdown = (figure: DictionaryFigure, around: Around): string[] => [
  `${code(figure.name)}. ${figure.description}`,
  '',
  ...figureFacts(figure).map(
    ([name, content]) => `- ${name}: ${name === 'Relation' ? linkTo(figure.relation, around) : content}`,
  ),
  '',
  ...example(figure.example),
  ...(figure.instead.length === 0 ? [] : ['Common mistakes, and why they are wrong:', '']),
  ...figure.instead.flatMap(({ sql, why }) => ['```sql', sql, '```', '', why, '']),
]

const introduction = [
  'Money is in integer cents (kind `cents`). Timestamps are UTC; in SQLite they are text, ' +
    '`YYYY-MM-DDTHH:MM:SS.ffffffZ` in tables and `YYYY-MM-DD HH:MM:SS.ffffff` in views, which sorts in time order. In SQLite, booleans are 0 or 1 and JSON is text.',
  'Records that no longer exist at the source keep their rows, with `_deleted_at` set. Rows of nested arrays have no such ' +
    'column, so join them to their owner. Enumerations can hold values not listed here.',
  'Null: *never*: every row has a value. *only when absent or unusable*: the API always sends one, so ' +
    'null means the record lacked it or it could not be stored. *yes*: null means what the description says.',
].flatMap((paragraph) => [paragraph, ''])

/** The data tables that refer to each other, drawn by whatever shows Mermaid; it is readable as text, too. */
const referencesMarkdown = (dictionary: Dictionary): string[] => [
  '## How the tables join',
  '',
  '```mermaid',
  'erDiagram',
  ...dataTables(dictionary).flatMap((table) =>
    table.joins.map((join) => `  ${join.table} ||--o{ ${table.name} : ${namingColumn(join)}`),
  ),
  '```',
  '',
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

const aroundOf = ({ tables, figures }: Dictionary, placeOf: Place, placeOfFigure: Place): Around => ({
  known: new Set(tables.map(({ name }) => name)),
  incoming: incomingJoins(tables),
  figures,
  placeOf,
  placeOfFigure,
})

const whole = (lines: readonly string[]): string => `${lines.join('\n').trimEnd()}\n`

/** The heading from which Markdown makes an anchor: a figure and a relation may have the same name. */
const headOfFigure = ({ name }: DictionaryFigure): string => `Figure ${name}`

/** One document. */
export function toMarkdown(dictionary: Dictionary): string {
  const { tables, figures, questions } = dictionary
  const around = aroundOf(
    dictionary,
    (name) => `#${name}`,
    (name) => `#figure-${name}`,
  )
  return whole([
    '# Data dictionary',
    '',
    ...introduction,
    ...[`## ${figuresTitle}`, '', figuresAbout, ''],
    ...figures.flatMap((figure) => [`### ${headOfFigure(figure)}`, '', ...figureMarkdown(figure, around)]),
    ...parts.flatMap(([part, title]) => [
      `## ${title}`,
      '',
      ...tables
        .filter((table) => table.part === part)
        .flatMap((table) => [`### ${table.name}`, '', ...relationMarkdown(table, around)]),
    ]),
    ...referencesMarkdown(dictionary),
    ...questionsMarkdown(questions),
  ])
}

const mark = [`<!-- ${generatedBy} -->`, '']

const figuresListed = (figures: readonly DictionaryFigure[], around: Around): string[] => [
  `## ${figuresTitle}`,
  '',
  figuresAbout,
  '',
  ...aligned([
    ['Figure', 'Unit', 'What it means'],
    ...figures.map((figure) => [
      linkToFigure(figure, around),
      figure.unit,
      inCell(firstSentence(figure.description)),
    ]),
  ]),
  '',
]

const relationsListed = (tables: readonly DictionaryTable[], around: Around): string[] =>
  parts.flatMap(([part, title]) => [
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

/** A page for each relation and figure, and README.md with what applies to all and a link to each; by file name. */
export function toMarkdownPages(dictionary: Dictionary): Record<string, string> {
  const { tables, figures, questions } = dictionary
  const figurePlace: Place = (name) => `figures/${name}.md`
  const around = aroundOf(dictionary, (name) => `${name}.md`, figurePlace)
  const aroundFigures = aroundOf(
    dictionary,
    (name) => `../${name}.md`,
    (name) => `${name}.md`,
  )
  const page = (head: string, content: readonly string[], up: string): string =>
    whole([...mark, `# ${head}`, '', ...content, `[The whole dictionary](${up})`])
  return {
    'README.md': whole([
      ...mark,
      '# Data dictionary',
      '',
      ...introduction,
      ...figuresListed(figures, around),
      ...relationsListed(tables, around),
      ...referencesMarkdown(dictionary),
      ...questionsMarkdown(questions),
    ]),
    ...Object.fromEntries(
      tables.map((table) => [
        `${table.name}.md`,
        page(table.name, relationMarkdown(table, around), 'README.md'),
      ]),
    ),
    ...Object.fromEntries(
      figures.map((figure) => [
        figurePlace(figure.name),
        page(figure.label, figureMarkdown(figure, aroundFigures), '../README.md'),
      ]),
    ),
  }
}

/**
 * What the data dictionary contains about a table, in any format. src/features/dictionary/describe.ts fills it in; the
 * files of this folder write it.
 */
import type { OpenQuestion } from '../../../schema/openquestions.js'
import type { Kind } from '../../../schema/resource.js'
import type { ViewKind } from '../../../schema/view.js'

export type ColumnKind = Kind | ViewKind

export interface DictionaryColumn {
  readonly name: string
  readonly kind: ColumnKind
  readonly postgres: string
  readonly sqlite: string
  readonly nullable: boolean
  /**
   * When the value is null, in words. `only when absent or unusable`: in the API documentation it always has a value, so
   * in practice there is one.
   */
  readonly nulls: 'never' | 'only when absent or unusable' | 'yes'
  /** The unit of a number or instant, such as `cents`; empty if there is nothing to count. */
  readonly unit: string
  readonly description: string
  readonly values?: readonly string[] | undefined
  readonly references?: string | undefined
  /** It says something about a person, and is left out for those who may not see that. */
  readonly personal?: true | undefined
  /** For views, whose keys no database knows: no two rows have the same value. */
  readonly unique?: true | undefined
  /** For views: on SQLite an instant in the form of the tables, which is not that of the other columns of views. */
  readonly as_stored?: true | undefined
}

/** How a row finds the row it refers to in another table: the columns on both sides, pair by pair. */
export interface DictionaryJoin {
  readonly table: string
  readonly columns: readonly string[]
  readonly to: readonly string[]
}

/** A query that runs as it is on every kind of warehouse. */
export interface DictionaryExample {
  readonly title: string
  readonly sql: string
}

export interface DictionaryTable {
  readonly name: string
  readonly part: (typeof parts)[number][0]
  /** The resource that the table belongs to; empty for the product's own tables. */
  readonly resource: string
  readonly description: string
  readonly grain: string
  /** The section of the API documentation that shows the resource; empty for the product's own tables. */
  readonly source: string
  /** false: the document refers to the resource but doesn't show its path. */
  readonly documented: boolean
  /** For a view, its unique column; empty if no single column is its key. */
  readonly key: readonly string[]
  readonly indexes: readonly (readonly string[])[]
  readonly columns: readonly DictionaryColumn[]
  readonly joins: readonly DictionaryJoin[]
  readonly examples: readonly DictionaryExample[]
}

/** How a figure is computed, and therefore what may be done with it. */
export type FigureKind = 'sum' | 'distinct' | 'ratio' | 'moment'

/** A business figure: what it means, and its SQL. */
export interface DictionaryFigure {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly unit: string
  /** A ratio of values at a moment is a `ratio`. */
  readonly kind: FigureKind
  /** Whether adding it up over days and shops is right. */
  readonly adds_up: boolean
  readonly relation: string
  /** The condition that belongs to it. */
  readonly where: string | null
  /** The day column that dates it; null for the current state. */
  readonly day: string | null
  readonly numerator: string
  readonly denominator: string | null
  /** The figure in its unit, as an expression over the rows that `where` selects. */
  readonly value: string
  readonly left_out: { readonly what: string; readonly sql: string } | null
  /** The column of daily_snapshots with its past values. */
  readonly snapshot: string | null
  /** What it may be grouped by, besides tenant, shop and day. */
  readonly by: readonly string[]
  readonly lists: readonly string[]
  /** The figure it breaks down. */
  readonly splits: string | null
  /** Where it is stored by shop and period. */
  readonly columns: readonly string[]
  readonly example: DictionaryExample
  /** What people often type instead. */
  readonly instead: readonly { readonly sql: string; readonly why: string }[]
}

export interface Dictionary {
  readonly tables: readonly DictionaryTable[]
  readonly figures: readonly DictionaryFigure[]
  /** What the API documentation leaves open about the numbers, and how they are computed. */
  readonly questions: readonly OpenQuestion[]
}

/** The heading of these questions, and the text under it. */
export const questionsTitle = 'What the document leaves open'
export const questionsAbout =
  "The API sends no totals, no days and few names. Where its documentation doesn't define them, the derived tables and the views work as follows."

export const figuresTitle = 'Figures'
export const figuresAbout =
  'The numbers a shop runs on. Each is declared once, and the report, `shop_days`, `shop_months` and the metrics for dbt and Superset all follow from that declaration.'

/** What may be done with each kind of figure. */
const kindWords: Readonly<Record<FigureKind, string>> = {
  sum: 'Adds up over days, shops and tenants.',
  distinct: 'A distinct count. Does not add up: query it again for each period and group.',
  ratio: 'A ratio. Does not add up: divide the sum of the numerators by the sum of the denominators.',
  moment: 'A balance at one moment. Adds up over shops, but not over days.',
}

/** A car counts once in each month that it comes: the sum of such counts is none of its own. */
const sumsOf = ({ kind, denominator }: DictionaryFigure): string =>
  denominator?.startsWith('count(distinct ')
    ? 'A ratio by a distinct count. Does not add up, nor do its parts: query it again for each period and group.'
    : kindWords[kind]

/** What every format shows about a figure, as names and contents; SQL is in backquotes. */
export function figureFacts(figure: DictionaryFigure): (readonly [name: string, content: string])[] {
  const { unit, relation, where, day, numerator, denominator, left_out: left, snapshot } = figure
  const sql = (text: string): string => `\`${text}\``
  const lists = (texts: readonly string[]): string => texts.map(sql).join(', ')
  return (
    [
      ['Unit', unit],
      ['Sums', sumsOf(figure)],
      ['Relation', sql(relation)],
      ['Where', where === null ? '' : sql(where)],
      ['Day', day === null ? 'None: it shows the current state.' : sql(day)],
      [denominator === null ? 'Value' : 'Numerator', sql(numerator)],
      ['Denominator', denominator === null ? '' : sql(denominator)],
      ['Leaves out', left === null ? '' : `${left.what}: ${sql(left.sql)}`],
      ['Grouped by', lists(['tenant_id', 'shop_key', ...(day === null ? [] : [day]), ...figure.by])],
      ['Splits', figure.splits === null ? '' : sql(figure.splits)],
      [
        'Past days',
        snapshot === null
          ? ''
          : `Column ${sql(snapshot)} of \`daily_snapshots\`, written by the nightly job.`,
      ],
      ['Columns', lists(figure.columns)],
      ['Based on', lists(figure.lists)],
    ] as const
  ).filter(([, content]) => content !== '')
}

/** The parts of the dictionary, in the order in which people look up tables. */
export const parts = [
  ['view', 'Views for analysts'],
  ['derived', 'Derived tables'],
  ['resource', 'Resource tables'],
  ['child', 'Nested tables'],
  ['state', "shopsync's own tables"],
] as const

/** The tables that hold data: all but the product's own state. Views hold no data of their own. */
export const dataTables = ({ tables }: Dictionary): DictionaryTable[] =>
  tables.filter(({ part }) => part !== 'state' && part !== 'view')

/** Where a resource's tables come from, as a sentence to append to the description; empty for all others. */
export function originOf({ source, documented }: DictionaryTable): string {
  const origin = source === '' ? '' : ` From the API documentation, ${source}.`
  return documented
    ? origin
    : `${origin} The API documentation mentions this resource but not its path, so its path follows the convention of the others.`
}

export const firstSentence = (text: string): string => /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text

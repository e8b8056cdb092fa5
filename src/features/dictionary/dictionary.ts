/**
 * What the data dictionary says of a table, whichever format says it. Filled in by src/features/dictionary/describe.ts, written by
 * the files of this folder.
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
  /** When the value is null, in words. */
  readonly nulls: Nulls
  /** What a number or an instant is counted in, such as `cents`; empty where there is nothing to count. */
  readonly unit: string
  readonly description: string
  readonly values?: readonly string[]
  readonly references?: string
  /** Of views, whose keys no database knows: no two rows have the same. */
  readonly unique?: true
}

/** `only when absent or unusable`: the API's document always has a value, so that in practice there is one. */
export type Nulls = 'never' | 'only when absent or unusable' | 'yes'

/** How a row finds the row of another table that it names: the columns on both sides, pair by pair. */
export interface DictionaryJoin {
  readonly table: string
  readonly columns: readonly string[]
  readonly to: readonly string[]
}

/** A query that runs as it stands, on every kind of warehouse. */
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
  /** The section of the API's document that shows the resource; empty for the product's own tables. */
  readonly source: string
  /** false: the document refers to the resource but does not show its path. */
  readonly documented: boolean
  /** Of a view the column that is unique there; empty where its rows have no key of one column. */
  readonly key: readonly string[]
  readonly indexes: readonly (readonly string[])[]
  readonly columns: readonly DictionaryColumn[]
  readonly joins: readonly DictionaryJoin[]
  readonly examples: readonly DictionaryExample[]
}

export interface Dictionary {
  readonly tables: readonly DictionaryTable[]
  /** What the API's document leaves open about the numbers, and what they are made by. */
  readonly questions: readonly OpenQuestion[]
}

/** The head of these questions, and what stands under it. */
export const questionsTitle = 'What the document leaves open'
export const questionsAbout =
  'The API sends no totals, no days and few names. Where its document does not say how they are meant, the derived tables and the views do as follows.'

/** The parts of the dictionary, in the order in which people look tables up. */
export const parts = [
  ['view', 'Views for analysts'],
  ['derived', 'Tables that follow from others'],
  ['resource', 'Tables of resources'],
  ['child', 'Tables of nested arrays'],
  ['state', "The product's own tables"],
] as const

/** The tables that hold data: all but those in which the product keeps its own state. Views hold none of their own. */
export const dataTables = ({ tables }: Dictionary): DictionaryTable[] =>
  tables.filter(({ part }) => part !== 'state' && part !== 'view')

/** Where a resource's tables come from, as a sentence that goes behind the description; empty for all others. */
export function originOf({ source, documented }: DictionaryTable): string {
  const origin = source === '' ? '' : ` From the API document, ${source}.`
  return documented
    ? origin
    : `${origin} The document refers to this resource without showing its path; its path follows the convention of the others.`
}

export const firstSentence = (text: string): string => /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text

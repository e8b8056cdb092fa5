/** One table on the page: facts, joins in both directions, columns, example queries. */

import { escaped, prose } from '../../../engine/base/escape.js'
import {
  type DictionaryColumn,
  type DictionaryExample,
  type DictionaryJoin,
  type DictionaryTable,
  originOf,
} from '../dictionary.js'
import { type Incoming, namingColumn } from '../joins.js'

export const code = (text: string): string => `<code>${escaped(text)}</code>`

export const linkTo = (table: string, text = table): string =>
  `<a href="#${escaped(table)}"><code>${escaped(text)}</code></a>`

/** How the page shows when a value is null. */
const nullWords: Readonly<Record<DictionaryColumn['nulls'], string>> = {
  never: 'never',
  'only when absent or unusable': 'not in practice',
  yes: 'may be',
}

/** The columns of the page's tables, with their headings; on a phone each cell shows its own. */
const heads = ['Column', 'Type', 'Null', 'Meaning'] as const

function typeCell({ kind, unit, postgres, sqlite }: DictionaryColumn): string {
  const words = unit === '' ? kind : kind === 'number' || kind === 'integer' ? `${kind}, ${unit}` : unit
  return `${escaped(words)} <small>${escaped(postgres)} · ${escaped(sqlite)}</small>`
}

function meaning(column: DictionaryColumn, known: ReadonlySet<string>): string {
  const values = column.values
    ? ` <span class="more">Values: ${column.values.map(code).join(' ')}</span>`
    : ''
  const target = column.references ?? ''
  const refers =
    target === ''
      ? ''
      : ` <span class="more">Refers to ${known.has(target) ? linkTo(target) : code(target)}</span>`
  return prose(column.description) + values + refers
}

/** An id may not contain a space, and the configuration can give a column any name. */
const anchor = (table: string, column: string): string =>
  /^\w+$/.test(column) ? ` id="${escaped(table)}.${column}"` : ''

function columnRow(table: DictionaryTable, column: DictionaryColumn, known: ReadonlySet<string>): string {
  const badge = (word: string): string => ` <span class="badge">${word}</span>`
  const badges =
    (table.key.includes(column.name) ? badge('key') : '') + (column.personal ? badge('personal') : '')
  const nulls = `<td role="cell" class="null ${column.nulls === 'yes' ? 'may' : 'no'}">${nullWords[column.nulls]}</td>`
  return (
    `<tr role="row"${anchor(table.name, column.name)}><th role="rowheader" scope="row">${code(column.name)}${badges}</th>` +
    `<td role="cell" class="type">${typeCell(column)}</td>${nulls}` +
    `<td role="cell" class="meaning">${meaning(column, known)}</td></tr>`
  )
}

const columnTable = (table: DictionaryTable, known: ReadonlySet<string>): string =>
  // On a phone the style breaks the cells out of the table; the roles keep it a table for screen readers.
  `<table role="table"><caption class="unseen">Columns of ${escaped(table.name)}</caption>
<thead role="rowgroup"><tr role="row">${heads.map((head) => `<th role="columnheader" scope="col">${head}</th>`).join('')}</tr></thead>
<tbody role="rowgroup">${table.columns.map((column) => columnRow(table, column, known)).join('\n')}</tbody></table>`

const joinItem = (join: DictionaryJoin): string =>
  `<li>${code(join.columns.join(', '))} → ${linkTo(join.table)} ${code(`(${join.to.join(', ')})`)}</li>`

const incomingItem = ({ from, join }: Incoming): string =>
  `<li>${linkTo(from.name, `${from.name}.${namingColumn(join)}`)}</li>`

const fact = (name: string, content: string): string =>
  content === '' ? '' : `<div><dt>${name}</dt><dd>${content}</dd></div>`

const listOf = (items: readonly string[], kind: string): string =>
  items.length === 0 ? '' : `<ul class="${kind}">${items.join('')}</ul>`

function facts(
  table: DictionaryTable,
  { incoming, figures }: { readonly incoming: readonly Incoming[]; readonly figures: readonly string[] },
): string {
  const { grain, key, indexes, joins } = table
  return `<dl class="facts">${[
    fact('Grain', escaped(grain)),
    fact('Key', key.length === 0 ? '' : code(key.join(', '))),
    fact(
      indexes.length === 1 ? 'Index' : 'Indexes',
      listOf(
        indexes.map((index) => `<li>${code(`(${index.join(', ')})`)}</li>`),
        'flow',
      ),
    ),
    fact('Joins to', listOf(joins.map(joinItem), 'joins')),
    fact('Joined by', listOf(incoming.map(incomingItem), 'flow')),
    fact(
      'Figures',
      listOf(
        figures.map((link) => `<li>${link}</li>`),
        'flow',
      ),
    ),
  ].join('')}</dl>`
}

export const exampleMarkup = ({ title, sql }: DictionaryExample): string =>
  `<figure class="sql"><figcaption>${prose(title)}</figcaption><pre tabindex="0"><code>${escaped(sql)}</code></pre></figure>`

export function tableSection(
  table: DictionaryTable,
  known: ReadonlySet<string>,
  leading: { readonly incoming: readonly Incoming[]; readonly figures: readonly string[] },
): string {
  const { name, description, examples } = table
  const more = originOf(table)
  const id = escaped(name)
  return `<section class="table" id="${id}" aria-labelledby="${id}-head"><h3 id="${id}-head"><a href="#${id}">${id}</a></h3>
<p class="about">${prose(description)}${more === '' ? '' : ` <span class="dim">${escaped(more.trim())}</span>`}</p>
${facts(table, leading)}
${columnTable(table, known)}
<details class="examples"><summary>${examples.length === 1 ? 'Example' : 'Examples'}<span class="unseen"> for ${id}</span></summary>${examples.map(exampleMarkup).join('')}</details></section>`
}

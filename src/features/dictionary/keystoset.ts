/**
 * The keys of the views as Markdown tables, for tools that look for keys in the database: no database knows keys of
 * views. The build writes them into docs/analytics.md.
 */
import type { Dictionary, DictionaryTable } from './dictionary.js'
import { namingColumn } from './joins.js'

const code = (text: string): string => `\`${text}\``

const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)

/** The views that refer to a column of another view, by both columns. */
function references(views: readonly DictionaryTable[]): string[][] {
  const found = new Map<string, string[]>()
  const names = new Set(views.map(({ name }) => name))
  for (const { name, joins } of views)
    for (const join of joins.filter(({ table }) => names.has(table))) {
      const pair = `${code(namingColumn(join))} | ${code(`${join.table}.${join.to.join(', ')}`)}`
      found.set(pair, [...(found.get(pair) ?? []), code(name)])
    }
  return [...found]
    .sort(([a], [b]) => a.localeCompare(b, 'en'))
    .map(([pair, where]) => [pair, where.join(', ')])
}

export function keysToSet({ tables }: Dictionary): string {
  const views = tables.filter(({ part }) => part === 'view')
  const unique = views.flatMap(({ name, columns }) =>
    columns.filter((column) => column.unique).map((column) => [code(name), code(column.name)]),
  )
  return [
    'These columns are unique:',
    '',
    ...markdownTable(['view', 'key'], unique),
    '',
    'These refer to another view, many to one.',
    '',
    ...markdownTable(['column', 'refers to', 'in'], references(views)),
  ].join('\n')
}

import type { Dictionary, DictionaryColumn, DictionaryTable } from './dictionary.js'
import { introduction, parts } from './dictionary.js'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => entities[found] ?? found)
/** Words between backquotes are code, as in the declarations' descriptions. */
const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
const code = (text: string): string => `<code>${escaped(text)}</code>`

const style = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #363c46); --soft: light-dark(#f5f7f9, #1c2026);
  --ink: light-dark(#1d232b, #e3e7ec); --dim: light-dark(#5b6673, #98a3b0); --link: light-dark(#0b57a4, #7db7f5); }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: light-dark(#fff, #14171b);
  display: grid; grid-template-columns: 17rem minmax(0, 1fr) }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem; background: var(--soft);
  border-right: 1px solid var(--line); font-size: 13px }
nav h2 { font-size: 12px; margin: 1.2rem 0 .3rem; color: var(--dim) } nav a { display: block; padding: .1rem 0 }
main { padding: 1.5rem 2rem 4rem; max-width: 78rem } a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline } section { margin-top: 2.5rem; scroll-margin-top: 1rem }
h1 { font-size: 1.7rem; margin: 0 0 .5rem } main h2 { margin: 3rem 0 0; font-size: 1.3rem }
h3 { margin: 0; font: 600 1.05rem ui-monospace, monospace } .dim { color: var(--dim) }
dl { display: grid; grid-template-columns: 4rem 1fr; margin: .5rem 0; font-size: 14px } dd { margin: 0 } dt { color: var(--dim) }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: 13.5px }
th { text-align: left; color: var(--dim); font-weight: 500 } th, td { padding: .35rem .7rem .35rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line) } code { font: .92em ui-monospace, monospace }
td:last-child { min-width: 18rem } td.nowrap { white-space: nowrap }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border: 0 } main { padding: 1rem } }
@media print { nav { display: none } body { display: block } }
`

function row(column: DictionaryColumn, known: ReadonlySet<string>): string {
  const values = column.values
    ? `<br><span class="dim">Values:</span> ${column.values.map(code).join(' ')}`
    : ''
  const target = column.references ?? ''
  const link = known.has(target) ? `<a href="#${escaped(target)}">${code(target)}</a>` : code(target)
  const refers = target === '' ? '' : `<br><span class="dim">Refers to</span> ${link}`
  return (
    `<tr><td class="nowrap">${code(column.name)}</td><td>${column.kind}</td><td>${column.postgres}</td>` +
    `<td>${column.sqlite}</td><td>${escaped(column.nulls)}</td><td>${prose(column.description)}${values}${refers}</td></tr>`
  )
}

function section(table: DictionaryTable, known: ReadonlySet<string>): string {
  const origin =
    table.source === '' ? '' : ` <span class="dim">From the API document, ${escaped(table.source)}.</span>`
  const indexes = table.indexes
    .map((index) => `<dt>Index</dt><dd>${index.map(code).join(', ')}</dd>`)
    .join('')
  return `<section id="${escaped(table.name)}"><h3>${escaped(table.name)}</h3>
<p>${prose(table.description)}${origin}</p>
<dl><dt>Grain</dt><dd>${escaped(table.grain)}</dd><dt>Key</dt><dd>${table.key.map(code).join(', ')}</dd>${indexes}</dl>
<div class="wide"><table><thead><tr><th>Column</th><th>Kind</th><th>Postgres</th><th>SQLite</th><th>Null</th><th>Description</th></tr></thead>
<tbody>${table.columns.map((column) => row(column, known)).join('\n')}</tbody></table></div></section>`
}

/** A self-contained page: no script, nothing loaded from elsewhere. */
export function toHtml({ tables }: Dictionary): string {
  const known = new Set(tables.map((table) => table.name))
  const grouped = parts.map(([part, title]) => ({
    title: escaped(title),
    tables: tables.filter((table) => table.part === part),
  }))
  const links = (list: readonly DictionaryTable[]): string =>
    list.map(({ name }) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join('')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Data dictionary</title><style>${style}</style></head><body>
<nav><strong>Data dictionary</strong>${grouped.map((g) => `<h2>${g.title}</h2>${links(g.tables)}`).join('')}</nav>
<main><h1>Data dictionary</h1>${introduction.map((text) => `<p>${prose(text)}</p>`).join('')}
${grouped.map((g) => `<h2>${g.title}</h2>${g.tables.map((table) => section(table, known)).join('\n')}`).join('\n')}
</main></body></html>
`
}

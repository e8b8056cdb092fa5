/* Tables on the pages. On a phone, a row becomes a block (reportstyle.ts), so no column is cut off. */
import { count } from '../../../engine/base/format.js'
import { type Html, html, type Piece } from './figure.js'

export function tableHtml({
  id,
  title,
  heads,
  rows,
  caption,
  nothing,
}: {
  readonly id: string
  readonly title: string
  /** A space before a heading: its column contains words and is aligned left. */
  readonly heads: readonly string[]
  readonly rows: readonly Html[]
  readonly caption: string
  /** Shown instead of a table without rows. */
  readonly nothing: string
}): Html {
  const body = html`<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}"><table class="stack">
<thead><tr>${heads.map((head) => html`<th scope="col" class="${head.startsWith(' ') ? 'text' : ''}">${head.trim()}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`
  return html`<section class="panel wide" aria-labelledby="${id}"><h3 id="${id}">${title}</h3>
${rows.length === 0 ? html`<p class="nothing">${nothing}</p>` : body}
${caption === '' ? null : html`<p class="caption">${caption}</p>`}</section>`
}

export const rowHtml = (head: Piece, cells: readonly Piece[]): Html =>
  html`<tr><th scope="row">${head}</th>${cells}</tr>`

export const numberCell = (value: number | bigint | null): Html =>
  html`<td${Number(value) === 0 ? html` class="none"` : null}>${value === null ? '–' : count(value)}</td>`

/** `tone`: a class that colors it. */
export const wordsCell = (value: string, tone = ''): Html =>
  html`<td class="text${tone === '' ? '' : ` ${tone}`}">${value}</td>`

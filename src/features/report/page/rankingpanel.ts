/* A ranking on the page: a table whose first column of numbers has bars. */
import type { Ranking } from '../ranking.js'
import { copyButtons, type Html, html, type Piece, proseHtml } from './figure.js'

const rowHtml = ({ name, bar, cells }: Ranking['rows'][number]): Html =>
  html`<tr><th scope="row">${name}</th>${cells.map(
    ({ text, value }, i) =>
      html`<td${value === undefined ? null : html` data-value="${value}"`}${i === 0 ? html` class="barred"` : null}>${i === 0 && bar !== null ? html`<i style="--part:${bar.toFixed(3)}"></i>` : null}<span>${text}</span></td>`,
  )}</tr>`

/** `period`: its id, if the reader can choose the period. */
export function rankingHtml(ranking: Ranking, idPrefix: string, period?: string, isWide = false): Piece {
  const { title, finding, definition, leftOut, of, columns, rows, nothing, isWordy = false } = ranking
  const id = [idPrefix, ranking.id, period].filter((part) => part !== undefined).join('-')
  return html`<section class="panel ranking table${isWide ? ' wide' : ''}" id="${id}"${period === undefined ? null : html` data-period="${period}"`} aria-labelledby="${id}-title">
<h3 id="${id}-title">${title}</h3>
${finding === '' ? null : html`<p class="finding">${finding}</p>`}
${
  rows.length === 0
    ? html`<p class="nothing">${nothing}</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="${title}"><table${isWordy || columns.length > 2 ? html` class="stack${isWordy ? ' wordy' : ''}"` : null}>
<thead><tr><th scope="col">${of}</th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(rowHtml)}</tbody></table></div>`
}
<p class="caption">${proseHtml([definition, ...leftOut].join(' '))}</p>
${rows.length === 0 ? null : copyButtons(ranking.id, title)}
</section>`
}

/* A figure on the page: its text, the drawing in each size, and the numbers as a table. */

import { escaped, prose } from '../../../engine/base/escape.js'
import { type Chart, cellText, type Figure } from '../chart.js'
import type { DrawingSize } from '../draw/option.js'

/** Text that is already HTML. Everything else is escaped when it enters a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Piece = Html | string | number | null | undefined | false | readonly Piece[]

function textOf(piece: Piece): string {
  if (piece instanceof Html) return piece.text
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'object') return piece.map(textOf).join('')
  return escaped(String(piece))
}

/** A template whose values are escaped unless they are Html. Lists are joined; null and false produce nothing. */
export const html = (parts: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(parts.map((part, i) => part + (i < pieces.length ? textOf(pieces[i]) : '')).join(''))

/** A definition, whose words in backquotes are code. */
export const proseHtml = (text: string): Html => new Html(prose(text))

/** Draws a chart; option.ts does this and is loaded only where a page is made. */
export type Draw = (chart: Chart, size: DrawingSize) => string

/** The sizes in which a figure is drawn, by the class that reportstyle.ts shows at the page's widths. */
function sizesOf({ isWide = false }: Figure): readonly (readonly [string, DrawingSize])[] {
  const size = (width: number, height: number, isNarrow = false): DrawingSize => ({ width, height, isNarrow })
  const narrow = ['narrow', size(324, 230, true)] as const
  if (!isWide) return [['half', size(536, 250)], narrow]
  return [['full', size(1128, 320)], ['mid', size(640, 280)], narrow]
}

const attributes = (figure: Figure, className: string): string =>
  html`<svg class="${className}" role="img" aria-label="${[figure.title, figure.finding].filter(Boolean).join('. ')}"`
    .text

function drawings(figure: Figure, draw: Draw): Html[] {
  return sizesOf(figure).map(
    ([name, size]) => new Html(draw(figure.chart, size).replace('<svg', attributes(figure, name))),
  )
}

function legend({ series, partial, shape }: Chart): Piece {
  const hatched = shape === 'columns' && partial?.includes(true)
  if (series.length < 2 && !hatched) return null
  return html`<ul class="legend">${series.map(
    ({ name, color, isLine, isDashed }) =>
      html`<li><i class="${isDashed ? 'line dashed' : isLine || shape === 'lines' ? 'line' : 'box'}" style="--mark:var(--${color})"></i>${name}</li>`,
  )}${hatched ? html`<li><i class="box hatched"></i>incomplete</li>` : null}</ul>`
}

const isEmpty = ({ series }: Chart): boolean =>
  series.every(({ values }) => values.every((value) => value === null || value === 0))

function numbers({ id, chart, extra, title }: Figure): Html {
  const { of, categories, partial, series, unit } = chart
  const head = [...series.map(({ name }) => name), ...extra.map((column) => column.title)]
  const rows = categories.map((category, i) => {
    const cells = [
      ...series.map(({ values }) => cellText(values[i] ?? null, unit)),
      ...extra.map(({ cells }) => cells[i] ?? ''),
    ]
    const note = partial?.[i] ? html` <small>incomplete</small>` : null
    return html`<tr><th scope="row">${category}${note}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`
  })
  const name = `${title}: numbers`
  return html`<details class="table"><summary>Numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="${name}"><table${head.length > 2 ? new Html(' class="stack"') : null}>
<thead><tr><th scope="col">${of}</th>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>${copyButtons(id, title)}</details>`
}

/** They copy the table in the same `.table`; a page without its script hides them. */
export const copyButtons = (fileName: string, title: string): Html =>
  html`<p class="copy"><button type="button" data-csv="copy" data-name="${fileName}" aria-label="${`Copy as CSV: ${title}`}">Copy as CSV</button> <button type="button" data-csv="save" data-name="${fileName}" aria-label="${`Download CSV: ${title}`}">Download</button></p>`

export function figureHtml(figure: Figure, draw: Draw, scopeId: string): Html {
  const id = `${scopeId}-${figure.id}`
  const { title, finding, definition, leftOut, chart, nothing, isWide } = figure
  const none = isEmpty(chart)
  return html`<figure class="panel${isWide ? ' wide' : ''}" id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title">${title}</h3>
${finding === '' ? null : html`<p class="finding">${finding}</p>`}
${none ? html`<p class="nothing">${nothing}</p>` : html`${legend(chart)}<div class="plot">${drawings(figure, draw)}</div>`}
<figcaption>${proseHtml([definition, ...leftOut].join(' '))}</figcaption>
${none ? null : numbers(figure)}
</figure>`
}

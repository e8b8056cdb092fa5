/* The owner's page: questions answered and lists to act on, then charts. What only an operator needs is on operationspage.ts. */
import { inReadingOrder } from '../../../../schema/figureorder.js'
import { count, plural } from '../../../engine/base/format.js'
import { leftOutOf } from '../amounts.js'
import type { Figure } from '../chart.js'
import type { PeriodAnswer, ReportData, ReportScope } from '../data.js'
import type { FigureInput } from '../figures/overmonths.js'
import { customersFigure } from '../figures/people.js'
import {
  averageOrderFigure,
  hourProfitFigure,
  laborRateFigure,
  orderHoursFigure,
  paceFigure,
  salesFigure,
} from '../figures/sales.js'
import { adviceFigure, cycleFigure } from '../figures/work.js'
import { dayInFull } from '../numberwords.js'
import {
  advisorsRanking,
  categoriesRanking,
  cellOf,
  marginRanking,
  type Ranking,
  receivablesRanking,
  shopsRanking,
  standingRanking,
  techniciansRanking,
} from '../ranking.js'
import { flowFigures } from '../read/gather.js'
import { neverSynced } from '../reporttext.js'
import { cardsHtml } from './cards.js'
import { comparisonHtml } from './compare.js'
import { copyButtons, type Draw, figureHtml, type Html, html, type Piece, proseHtml } from './figure.js'
import { pageFrame } from './pageframe.js'
import { tasksHtml } from './tasktables.js'

interface PagePart {
  readonly id: string
  readonly title: string
  readonly figures: readonly ((input: FigureInput) => Figure)[]
  /** Charts that the page of one shop leaves out; they are with its business. */
  readonly ofBusinesses: readonly ((input: FigureInput) => Figure)[]
  /** One for each period. */
  readonly byPeriod: readonly ((answer: PeriodAnswer) => Ranking)[]
  readonly now: readonly ((scope: ReportScope) => Ranking)[]
}

const parts: readonly PagePart[] = [
  {
    id: 'sales-part',
    title: 'Sales',
    figures: [salesFigure, paceFigure, averageOrderFigure],
    ofBusinesses: [],
    byPeriod: [categoriesRanking, advisorsRanking],
    now: [],
  },
  {
    id: 'work-part',
    title: 'Work',
    figures: [hourProfitFigure, laborRateFigure],
    ofBusinesses: [orderHoursFigure, cycleFigure],
    byPeriod: [techniciansRanking, marginRanking],
    now: [],
  },
  {
    id: 'customers-part',
    title: 'Customers',
    figures: [],
    ofBusinesses: [adviceFigure, customersFigure],
    byPeriod: [],
    now: [receivablesRanking, standingRanking],
  },
]

const titleOf = ({ title, shops }: ReportScope): string =>
  shops > 1 ? `${title} · ${plural(shops, 'shop')}` : title

function partHtml(
  { id, title, figures, ofBusinesses, byPeriod, now }: PagePart,
  input: FigureInput,
  draw: Draw,
): Html {
  const { scope } = input
  const charts = scope.kind === 'shop' ? figures : [...figures, ...ofBusinesses]
  const rankings = byPeriod.map((ranking) =>
    scope.periods.map((answer) => rankingHtml(ranking(answer), scope.id, answer.period.id)),
  )
  // Customers belong to a business.
  const lists = now.filter((ranking) => scope.kind !== 'shop' || ranking !== standingRanking)
  return html`<details class="part" open><summary><h2 id="${scope.id}-${id}">${title}</h2></summary>
<div class="grid">${charts.map((figure) => figureHtml(figure(input), draw, scope.id))}${rankings}${lists.map((ranking) => rankingHtml(ranking(scope), scope.id))}</div></details>`
}

const shopsHtml = (scope: ReportScope): Piece =>
  scope.periods.some(({ shops }) => shops.length > 1)
    ? html`<details class="part" open><summary><h2>Shops</h2></summary>${scope.periods.map((answer) => rankingHtml(shopsRanking(answer), scope.id, answer.period.id, true))}</details>`
    : null

function scopeHtml(data: ReportData, scope: ReportScope, draw: Draw, isFirst: boolean): Html {
  const input: FigureInput = { lastMonth: data.lastMonth, scope }
  const heading = data.scopes.length > 1 ? html`<h2 class="scope-title">${titleOf(scope)}</h2>` : null
  return html`<div data-scope="${scope.id}"${isFirst ? null : html` class="later"`}>${heading}
${cardsHtml(data, scope)}
${tasksHtml(scope)}
${isFirst ? comparisonHtml(data) : null}
${shopsHtml(scope)}
${parts.map((part) => partHtml(part, input, draw))}
${everyFigureHtml(scope)}</div>`
}

/** Closed until someone looks for a figure. */
const everyFigureHtml = (scope: ReportScope): Piece =>
  scope.periods.length === 0
    ? null
    : html`<details class="part"><summary><h2>Every figure</h2></summary>${scope.periods.map((answer) => rankingHtml(figuresRanking(answer), scope.id, answer.period.id, true))}</details>`

const optionHtml = ({ id, title }: ReportScope): Html => html`<option value="${id}">${title}</option>`

const scopesHtml = ({ scopes }: ReportData): Piece =>
  scopes.length < 2
    ? null
    : html`<label class="choice">${scopes.some(({ kind }) => kind === 'shop') ? 'Shop' : 'Business'} <select data-pick="scope">${scopes.map(optionHtml)}</select></label>`

const periodsHtml = ({ scopes, periods }: ReportData): Piece =>
  scopes.length === 0 || periods.length < 2
    ? null
    : html`<label class="choice">Period <select data-pick="period">${periods.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}</select></label>`

/** The day in the shops' calendar; the script adds the time in the reader's time zone. */
const madeHtml = ({ madeAt, today }: ReportData): Html =>
  html`<time datetime="${madeAt}" data-clock>${dayInFull(today)}</time>`

function headerHtml(data: ReportData): Html {
  const [only, ...others] = data.scopes
  const who = only && others.length === 0 ? titleOf(only) : ''
  return html`<div><h1>Shop report</h1><p>${who === '' ? null : `${who} · `}${madeHtml(data)}</p></div><div class="choices">${scopesHtml(data)}${periodsHtml(data)}</div>`
}

const bodyHtml = (data: ReportData, draw: Draw): Html =>
  data.scopes.length === 0
    ? html`<article class="panel empty"><h2>No data yet</h2><p>${data.absent ?? neverSynced}</p></article>`
    : html`${data.scopes.map((scope, i) => scopeHtml(data, scope, draw, i === 0))}`

/** The whole page as text. */
export const reportPage = (data: ReportData, draw: Draw): string =>
  pageFrame({
    title: `Shop report${data.scopes[0] ? `: ${data.scopes[0].title}` : ''}`,
    header: headerHtml(data),
    main: bodyHtml(data, draw),
    footer: html`Generated ${madeHtml(data)} from ${data.warehouse}. Days and months are in each shop’s time zone. The page loads nothing from the network. For what each number means: <code>shopsync dictionary</code>.`,
  })

/** Every declared figure for the period, with what it leaves out. A new figure shows up here by itself. */
function figuresRanking({ period, amounts }: PeriodAnswer): Ranking {
  return {
    id: 'figures',
    title: `Every figure, ${period.label}`,
    finding: '',
    definition:
      'For definitions and SQL: shopsync dictionary. The view shop_months has the same figures by month.',
    leftOut: [],
    of: 'figure',
    columns: ['Amount', 'Left out'],
    rows: inReadingOrder(flowFigures).map((figure) => {
      const left = leftOutOf(amounts, figure)
      const words = left > 0 && figure.leavesOut ? `${count(left)} ${figure.leavesOut.what}` : ''
      return { name: figure.label, bar: null, cells: [cellOf(amounts, figure), { text: words }] }
    }),
    nothing: 'No figures are declared.',
    isWordy: true,
  }
}

const rowHtml = ({ name, bar, cells }: Ranking['rows'][number]): Html =>
  html`<tr><th scope="row">${name}</th>${cells.map(
    ({ text, value }, i) =>
      html`<td${value === undefined ? null : html` data-value="${value}"`}${i === 0 ? html` class="barred"` : null}>${i === 0 && bar !== null ? html`<i style="--part:${bar.toFixed(3)}"></i>` : null}<span>${text}</span></td>`,
  )}</tr>`

/** Columns of numbers that fit into half of the page. */
const mostInHalf = 3

/** `period`: its id, if the reader can choose the period. */
function rankingHtml(ranking: Ranking, idPrefix: string, period?: string, isWide = false): Piece {
  const { title, finding, definition, leftOut, of, columns, rows, nothing, isWordy = false } = ranking
  const id = [idPrefix, ranking.id, period].filter((part) => part !== undefined).join('-')
  // In half of the page, the last of so many columns would be cut off.
  const wide = isWide || columns.length > mostInHalf ? ' wide' : ''
  return html`<section class="panel ranking table${wide}" id="${id}"${period === undefined ? null : html` data-period="${period}"`} aria-labelledby="${id}-title">
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

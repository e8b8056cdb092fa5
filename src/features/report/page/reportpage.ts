/* The owner's page: three questions answered, then charts. What only an operator needs is on operationspage.ts. */
import { count, plural } from '../../../engine/base/format.js'
import { leftOutOf } from '../amounts.js'
import { answersOf, type Fact, periodQuestion, type QuestionAnswer } from '../answers.js'
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
import { dayInFull, moneyText, unknownMark } from '../numberwords.js'
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
import type { Tone } from '../trustsentence.js'
import { comparisonHtml } from './compare.js'
import { copyButtons, type Draw, figureHtml, type Html, html, type Piece, proseHtml } from './figure.js'
import { pageFrame } from './pageframe.js'

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
    ...{ id: 'sales-part', title: 'Sales' },
    figures: [salesFigure, paceFigure, averageOrderFigure],
    ofBusinesses: [],
    byPeriod: [categoriesRanking, advisorsRanking],
    now: [],
  },
  {
    ...{ id: 'work-part', title: 'Work' },
    figures: [hourProfitFigure, laborRateFigure],
    ofBusinesses: [orderHoursFigure, cycleFigure],
    byPeriod: [techniciansRanking, marginRanking],
    now: [],
  },
  {
    ...{ id: 'customers-part', title: 'Customers' },
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

/** The second question is answered for every period. */
function questionsHtml(data: ReportData, scope: ReportScope): Piece {
  const [trust, month, today] = answersOf(data, scope)
  const periods = scope.periods.map((answer) =>
    questionHtml(periodQuestion(answer, scope), scope.id, answer.period.id),
  )
  return [
    trust && questionHtml(trust, scope.id),
    periods.length > 0 ? periods : month && questionHtml(month, scope.id),
    today && questionHtml(today, scope.id),
  ]
}

function scopeHtml(data: ReportData, scope: ReportScope, draw: Draw, isFirst: boolean): Html {
  const input: FigureInput = { lastMonth: data.lastMonth, scope }
  const heading = data.scopes.length > 1 ? html`<h2 class="scope-title">${titleOf(scope)}</h2>` : null
  return html`<div data-scope="${scope.id}"${isFirst ? null : html` class="later"`}>${heading}
<div class="questions">${questionsHtml(data, scope)}</div>
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
    ? html`<article class="panel empty"><h2>No data yet</h2><p>${neverSynced}</p></article>`
    : html`${data.scopes.map((scope, i) => scopeHtml(data, scope, draw, i === 0))}`

/** The whole page as text. */
export const reportPage = (data: ReportData, draw: Draw): string =>
  pageFrame({
    title: `Shop report${data.scopes[0] ? `: ${data.scopes[0].title}` : ''}`,
    header: headerHtml(data),
    main: bodyHtml(data, draw),
    footer: html`Generated ${madeHtml(data)} from ${data.warehouse}. Days and months are in each shop’s time zone. The page loads nothing from the network. For what each number means: <code>shopsync dictionary</code>.`,
  })

/** Shown by a sign and a word, not only by color. */
const signs: Readonly<Record<Tone, readonly [sign: string, word: string]>> = {
  good: ['✓', 'all good'],
  watch: ['–', 'worth a look'],
  bad: ['!', 'needs attention'],
}

const arrows = { up: '▲', down: '▼', level: '■' } as const

const factHtml = ({ label, value, notes, trends }: Fact): Html => html`<div class="fact">
<dt>${label}</dt><dd><b>${value}</b>${notes.map((note) => html`<span>${note}</span>`)}${trends.map(
  ({ label, trend }) =>
    html`<span class="trend ${trend.direction}"><i aria-hidden="true">${arrows[trend.direction]}</i> ${trend.text} <small>vs. ${label}</small></span>`,
)}</dd></div>`

const ordersHtml = ({
  title,
  about,
  list,
}: QuestionAnswer['orders'][number]): Html => html`<details class="orders"><summary>${title}</summary>
<div class="scroll" tabindex="0" role="region" aria-label="${title}"><table class="stack"><thead><tr><th scope="col">order</th><th scope="col">shop</th><th scope="col">customer</th><th scope="col">${about}</th><th scope="col">amount</th></tr></thead>
<tbody>${list.map(
  (order) =>
    html`<tr><th scope="row">${order.number}</th><td class="text">${order.shop}</td><td class="text">${order.customer}</td><td>${count(order.days)}</td><td>${order.cents === null ? unknownMark : moneyText(order.cents)}</td></tr>`,
)}</tbody></table></div></details>`

/** `period`: its id, if the answer is one of several that the reader can choose. */
function questionHtml(answer: QuestionAnswer, scopeId: string, period?: string): Html {
  const id = [scopeId, answer.id, period].filter((part) => part !== undefined).join('-')
  const [sign, word] = signs[answer.tone]
  return html`<article class="panel question ${answer.id}" aria-labelledby="${id}"${period === undefined ? null : html` data-period="${period}"`}>
<h2 id="${id}">${answer.question}</h2>
<p class="answer"><i class="sign ${answer.tone}" role="img" aria-label="${word}">${sign}</i><span>${answer.sentence}</span></p>
<dl>${answer.facts.map(factHtml)}</dl>
${answer.orders.map(ordersHtml)}
${answer.remarks.length > 0 ? html`<details class="remarks"><summary>What this means</summary>${answer.remarks.map((remark) => html`<p>${remark}</p>`)}</details>` : null}
</article>`
}

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
    rows: [...flowFigures]
      .sort((a, b) => (a.label < b.label ? -1 : 1))
      .map((figure) => {
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

/** `period`: its id, if the reader can choose the period. */
function rankingHtml(ranking: Ranking, idPrefix: string, period?: string, isWide = false): Piece {
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

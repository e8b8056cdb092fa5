/* The owner's page: three questions answered, then charts. What only an operator needs is on operationspage.ts. */
import { count, plural } from '../../../engine/base/format.js'
import { answersOf, type Fact, type QuestionAnswer } from '../answers.js'
import type { Figure } from '../chart.js'
import type { ReportData, ReportScope } from '../data.js'
import { customersFigure, receivablesFigure, standingFigure } from '../figures/people.js'
import {
  averageOrderFigure,
  type FigureInput,
  laborRateFigure,
  orderHoursFigure,
  salesFigure,
} from '../figures/sales.js'
import { adviceFigure, cycleFigure, marginFigure, techniciansFigure } from '../figures/work.js'
import { dayInFull, moneyText, unknownMark } from '../numberwords.js'
import { neverSynced } from '../reporttext.js'
import type { Tone } from '../trustsentence.js'
import { comparisonHtml } from './compare.js'
import { type Draw, figureHtml, type Html, html, type Piece } from './figure.js'
import { pageFrame } from './pageframe.js'

const parts: readonly (readonly [
  id: string,
  title: string,
  figures: readonly ((input: FigureInput) => Figure)[],
])[] = [
  ['sales-part', 'Sales', [salesFigure, averageOrderFigure, orderHoursFigure]],
  ['work-part', 'Work', [techniciansFigure, laborRateFigure, marginFigure, cycleFigure]],
  ['customers-part', 'Customers', [adviceFigure, customersFigure, standingFigure, receivablesFigure]],
]

const titleOf = ({ title, shops }: ReportScope): string =>
  shops > 1 ? `${title} · ${plural(shops, 'shop')}` : title

function scopeHtml(data: ReportData, scope: ReportScope, draw: Draw, isFirst: boolean): Html {
  const input: FigureInput = { months: data.months, lastMonth: data.lastMonth, scope }
  const heading = data.scopes.length > 1 ? html`<h2 class="scope-title">${titleOf(scope)}</h2>` : null
  return html`<div data-scope="${scope.id}"${isFirst ? null : html` class="later"`}>${heading}
<div class="questions">${answersOf(data, scope).map((answer) => questionHtml(answer, scope.id))}</div>
${isFirst ? comparisonHtml(data) : null}
${parts.map(
  ([
    id,
    title,
    figures,
  ]) => html`<details class="part" open><summary><h2 id="${scope.id}-${id}">${title}</h2></summary>
<div class="grid">${figures.map((figure) => figureHtml(figure(input), draw, scope.id))}</div></details>`,
)}</div>`
}

const choiceHtml = ({ scopes }: ReportData): Piece =>
  scopes.length < 2
    ? null
    : html`<label class="choice">Business <select data-pick="scope">${scopes.map(
        ({ id, title }) => html`<option value="${id}">${title}</option>`,
      )}</select></label>`

/** The day by the shops' calendar; the script adds the time by the reader's clock. */
const madeHtml = ({ madeAt, today }: ReportData): Html =>
  html`<time datetime="${madeAt}" data-clock>${dayInFull(today)}</time>`

function headerHtml(data: ReportData): Html {
  const [only, ...others] = data.scopes
  const who = only && others.length === 0 ? titleOf(only) : ''
  return html`<div><h1>Shop report</h1><p>${who === '' ? null : `${who} · `}${madeHtml(data)}</p></div>${choiceHtml(data)}`
}

const bodyHtml = (data: ReportData, draw: Draw): Html =>
  data.scopes.length === 0
    ? html`<article class="panel empty"><h2>There is no data yet</h2><p>${neverSynced}</p></article>`
    : html`${data.scopes.map((scope, i) => scopeHtml(data, scope, draw, i === 0))}`

/** The whole page as text. */
export const reportPage = (data: ReportData, draw: Draw): string =>
  pageFrame({
    title: `Shop report${data.scopes[0] ? `: ${data.scopes[0].title}` : ''}`,
    header: headerHtml(data),
    main: bodyHtml(data, draw),
    footer: html`Made ${madeHtml(data)} from ${data.warehouse}. Days and months are the shops’ own. The page loads nothing from elsewhere. What every number means: <code>shopsync dictionary</code>.`,
  })

/** Told by a sign and a word, and not by color alone. */
const signs: Readonly<Record<Tone, readonly [sign: string, word: string]>> = {
  good: ['✓', 'all well'],
  watch: ['–', 'worth a look'],
  bad: ['!', 'needs attention'],
}

const arrows = { up: '▲', down: '▼', level: '■' } as const

const factHtml = ({ label, value, notes, trends }: Fact): Html => html`<div class="fact">
<dt>${label}</dt><dd><b>${value}</b>${notes.map((note) => html`<span>${note}</span>`)}${trends.map(
  ({ month, trend }) =>
    html`<span class="trend ${trend.direction}"><i aria-hidden="true">${arrows[trend.direction]}</i> ${trend.text} <small>vs. ${month}</small></span>`,
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

function questionHtml(answer: QuestionAnswer, scopeId: string): Html {
  const id = `${scopeId}-${answer.id}`
  const [sign, word] = signs[answer.tone]
  return html`<article class="panel question ${answer.id}" aria-labelledby="${id}">
<h2 id="${id}">${answer.question}</h2>
<p class="answer"><i class="sign ${answer.tone}" role="img" aria-label="${word}">${sign}</i><span>${answer.sentence}</span></p>
<dl>${answer.facts.map(factHtml)}</dl>
${answer.orders.map(ordersHtml)}
${answer.remarks.length > 0 ? html`<details class="remarks"><summary>What this means</summary>${answer.remarks.map((remark) => html`<p>${remark}</p>`)}</details>` : null}
</article>`
}

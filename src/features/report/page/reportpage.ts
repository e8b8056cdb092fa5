/* The report as one page that needs nothing but itself: no network, and no script but its own. */
import { createHash } from 'node:crypto'
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
import { instantInFull, moneyText, unknownMark } from '../numberwords.js'
import { neverSynced } from '../reporttext.js'
import type { Tone } from '../trustsentence.js'
import { comparisonHtml } from './compare.js'
import { type Draw, figureHtml, Html, html, type Piece } from './figure.js'
import { operationsHtml } from './operationspage.js'
import { hatchPatterns, pageScript, pageStyle } from './reportstyle.js'

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
  ]) => html`<section class="part" aria-labelledby="${scope.id}-${id}"><h2 id="${scope.id}-${id}">${title}</h2>
<div class="grid">${figures.map((figure) => figureHtml(figure(input), draw, scope.id))}</div></section>`,
)}</div>`
}

const choiceHtml = ({ scopes }: ReportData): Piece =>
  scopes.length < 2
    ? null
    : html`<label class="choice">Business <select data-choice>${scopes.map(
        ({ id, title }) => html`<option value="${id}">${title}</option>`,
      )}</select></label>`

function headerHtml(data: ReportData): Html {
  const [only, ...others] = data.scopes
  const who = only && others.length === 0 ? titleOf(only) : ''
  return html`<header><div><h1>Shop report</h1><p>${[who, instantInFull(data.madeAt)].filter(Boolean).join(' · ')}</p></div>${choiceHtml(data)}</header>`
}

const bodyHtml = (data: ReportData, draw: Draw): Html =>
  data.scopes.length === 0
    ? html`<article class="panel empty"><h2>There is no data yet</h2><p>${neverSynced}</p></article>`
    : html`${data.scopes.map((scope, i) => scopeHtml(data, scope, draw, i === 0))}${operationsHtml(data.operations, draw)}`

/** No source is allowed but the page itself; of scripts, the one whose digest is named. */
function policy(): string {
  const digest = createHash('sha256').update(pageScript).digest('base64')
  return `default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-${digest}'`
}

/** The whole page as text. */
export function reportPage(data: ReportData, draw: Draw): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${`Shop report${data.scopes[0] ? `: ${data.scopes[0].title}` : ''}`}</title><link rel="icon" href="data:,">
<style>${new Html(pageStyle)}</style></head><body>
<a class="skip" href="#main">To the figures</a>
${new Html(hatchPatterns)}
${headerHtml(data)}
<main id="main">${bodyHtml(data, draw)}</main>
<footer><p>Made ${instantInFull(data.madeAt)} from ${data.warehouse}. Days and months are the shops’ own; “today” is ${data.today} in ${data.timeZone}. The page loads nothing from elsewhere. What every number means: <code>shopsync dictionary</code>.</p></footer>
<div class="tip" hidden></div>
<script>${new Html(pageScript)}</script></body></html>
`.text
}

/** Told by a sign and a word, and not by color alone. */
const signs: Readonly<Record<Tone, readonly [sign: string, word: string]>> = {
  good: ['✓', 'all well'],
  watch: ['–', 'worth a look'],
  bad: ['!', 'needs somebody'],
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
<div class="scroll" tabindex="0" role="region" aria-label="${title}"><table><thead><tr><th scope="col">order</th><th scope="col">shop</th><th scope="col">customer</th><th scope="col">${about}</th><th scope="col">amount</th></tr></thead>
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

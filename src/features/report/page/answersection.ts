/* The first screen: three questions, three cards. */
import { count } from '../../../engine/base/format.js'
import type { Fact, QuestionAnswer } from '../answers.js'
import { moneyText, unknownMark } from '../numberwords.js'
import type { Tone } from '../trustsentence.js'
import { type Html, html } from './html.js'

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

export function questionHtml(answer: QuestionAnswer, scopeId: string): Html {
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

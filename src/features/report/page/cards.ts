/* The answers at the top of the page, each in a card: a sentence, its figures, and what the words mean. */
import { answersOf, readingOrder } from '../answers.js'
import type { ReportData, ReportScope } from '../data.js'
import type { Fact, QuestionAnswer } from '../fact.js'
import { periodQuestion, sameShopsWords } from '../periodanswers.js'
import type { Tone } from '../trustsentence.js'
import { type Html, html, type Piece } from './figure.js'

/** Shown by a sign and a word, not only by color. */
const signs: Readonly<Record<Tone, readonly [sign: string, word: string]>> = {
  good: ['✓', 'all good'],
  watch: ['–', 'worth a look'],
  bad: ['!', 'needs attention'],
}

const arrows = { up: '▲', down: '▼', level: '■' } as const

/** A change, and below the last one of those about the same shops, which shops. */
function trendHtml(trend: Fact['trends'][number], i: number, trends: Fact['trends']): Html {
  const { label } = trend
  const { direction, text } = trend.trend
  const same = sameShopsWords(trend)
  const next = trends[i + 1]
  const isLast = next === undefined || sameShopsWords(next) !== same
  return html`<span class="trend ${direction}"><i aria-hidden="true">${arrows[direction]}</i> ${text} <small>vs. ${label}</small></span>${same !== '' && isLast ? html`<span class="same">${same}</span>` : null}`
}

const factHtml = ({ label, value, notes, trends }: Fact): Html => html`<div class="fact">
<dt>${label}</dt><dd><b>${value}</b>${notes.map((note) => html`<span>${note}</span>`)}${trends.map(trendHtml)}</dd></div>`

const signHtml = (tone: Tone): Html =>
  html`<i class="sign ${tone}" role="img" aria-label="${signs[tone][1]}">${signs[tone][0]}</i>`

/** `period`: its id, if the answer is one of several that the reader can choose. */
function cardHtml(answer: QuestionAnswer, scopeId: string, period?: string): Html {
  const id = [scopeId, answer.id, period].filter((part) => part !== undefined).join('-')
  return html`<article class="panel question ${answer.id}" aria-labelledby="${id}"${period === undefined ? null : html` data-period="${period}"`}>
<h2 id="${id}">${answer.question}</h2>
<p class="answer">${signHtml(answer.tone)}<span>${answer.sentence}</span></p>
<dl>${answer.facts.map(factHtml)}</dl>
${answer.remarks.length > 0 ? html`<details class="remarks"><summary>What this means</summary>${answer.remarks.map((remark) => html`<p>${remark}</p>`)}</details>` : html`<div></div>`}
</article>`
}

/** The question about a period is answered for each of them. */
export function cardsHtml(data: ReportData, scope: ReportScope): Piece {
  const answers = answersOf(data, scope)
  const trust = answers.find(({ id }) => id === 'trust')
  // Figures that can't be trusted say so before they are read.
  const warning =
    trust && trust.tone === 'bad'
      ? html`<p class="panel warning">${signHtml(trust.tone)}<span>${trust.sentence}</span></p>`
      : null
  const cards = readingOrder.map((question) => {
    const answer = answers.find(({ id }) => id === question)
    if (question === 'month' && scope.periods.length > 0)
      return scope.periods.map((period) =>
        cardHtml(periodQuestion(period, scope), scope.id, period.period.id),
      )
    return answer && cardHtml(answer, scope.id)
  })
  return html`${warning}<div class="questions">${cards}</div>`
}

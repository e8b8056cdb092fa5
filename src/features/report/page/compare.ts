/* The comparison of many tenants: one line each, since lines in a chart could not be told apart. */
import averageRepairOrder from '../../../../schema/figures/average_repair_order.js'
import cars from '../../../../schema/figures/cars.js'
import grossMargin from '../../../../schema/figures/gross_margin.js'
import sales from '../../../../schema/figures/sales_cents.js'
import { count, plural } from '../../../engine/base/format.js'
import { amountText, changeOf } from '../amounts.js'
import type { ReportData, TenantLine } from '../data.js'
import { ageInWords, moneyText, type Trend, unknownMark } from '../numberwords.js'
import { sameShopsWords } from '../periodanswers.js'
import { trustSentence } from '../trustsentence.js'
import { copyButtons, type Html, html, type Piece } from './figure.js'

const words = { good: 'complete', watch: 'not up to date', bad: 'in doubt' } as const
const signs = { good: '✓', watch: '–', bad: '!' } as const

/** The change, and which shops it is about if not all. */
function changeText(comparison: TenantLine['comparison'], trend: Trend | null): Piece {
  if (!comparison || !trend) return unknownMark
  const same = sameShopsWords(comparison)
  return html`${trend.text}${same === '' ? null : html`<br><small>${same}</small>`}`
}

function line(
  madeAt: string,
  { id, name, trust, amounts, comparison, late, overdueCents }: TenantLine,
): Html {
  const { tone } = trustSentence(trust, madeAt)
  const trend = comparison ? changeOf(comparison.now, comparison.before, sales) : null
  const age =
    trust.completeThrough === null ? unknownMark : `${ageInWords(trust.completeThrough, madeAt)} old`
  const cells = [
    amountText(amounts, sales),
    changeText(comparison, trend),
    ...[grossMargin, averageRepairOrder, cars].map((figure) => amountText(amounts, figure)),
    count(late),
    moneyText(overdueCents),
  ]
  return html`<tr data-name="${`${name} ${id}`.toLowerCase()}"><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}<td class="text"><i class="sign ${tone}" role="img" aria-label="${words[tone]}">${signs[tone]}</i> ${age}</td></tr>`
}

/** With more tenants than this, the others are shown on demand, and can be searched (pagescript.ts). */
const firstShown = 15

export function comparisonHtml({ tenants, periods, madeAt }: ReportData): Html | null {
  if (tenants.length < 2) return null
  const [shown] = periods
  const heads = [
    ...['business', sales.label],
    shown?.compared[0] ? `vs. ${shown.compared[0].words}` : 'change',
    ...[grossMargin.label, averageRepairOrder.label, cars.label, 'late today', 'overdue'],
  ]
  const all = plural(tenants.length, 'business')
  const isCut = tenants.length > firstShown
  const search = html`<label class="search">Find a business <input type="search" data-search autocomplete="off"></label>`
  const more = html`<p class="more"><span>The first ${firstShown} of ${all} are shown.</span> <button type="button" data-all>Show all ${count(tenants.length)}</button></p>`
  return html`<details class="part" open><summary><h2>Businesses</h2></summary><section class="panel wide compare table" aria-labelledby="compare-title">
<h3 id="compare-title">${all}, highest sales first</h3>
${shown === undefined ? null : html`<p class="finding">${shown.label}.</p>`}
${isCut ? search : null}
<div class="scroll" tabindex="0" role="region" aria-labelledby="compare-title"><table class="stack${isCut ? ' cut' : ''}" data-searched>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}<th scope="col" class="text">data is</th></tr></thead>
<tbody>${tenants.map((tenant) => line(madeAt, tenant))}</tbody></table></div>
${isCut ? more : null}
<p class="caption">Definitions as above. Changes compare the same shops; the page of a business says how many. For all figures of one business: <code>shopsync report --tenant ID</code>.</p>
${copyButtons('businesses', 'businesses')}
</section></details>`
}

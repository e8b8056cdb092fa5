/* The comparison of many tenants: one line each, where lines in a chart could not be told apart. */
import { count, plural } from '../../../engine/base/format.js'
import type { ReportData, TenantLine } from '../data.js'
import {
  ageInWords,
  moneyText,
  monthInFull,
  percentText,
  ratio,
  trendOf,
  unknownMark,
} from '../numberwords.js'
import { trustSentence } from '../trustsentence.js'
import { type Html, html } from './figure.js'

const words = { good: 'complete', watch: 'not up to date', bad: 'in doubt' } as const
const signs = { good: '✓', watch: '–', bad: '!' } as const

function line(madeAt: string, { id, name, trust, last, before, late, overdueCents }: TenantLine): Html {
  const { tone } = trustSentence(trust, madeAt)
  const trend = trendOf(last.salesCents, before?.salesCents ?? null)
  const average = ratio(last.salesCents, last.invoices)
  const through =
    trust.completeThrough === null ? unknownMark : `${ageInWords(trust.completeThrough, madeAt)} old`
  const cells = [
    moneyText(last.salesCents),
    trend?.text ?? unknownMark,
    percentText(last.grossProfitCents, last.salesWithProfitCents),
    average === null ? unknownMark : moneyText(average),
    count(last.cars),
    count(late),
    moneyText(overdueCents),
  ]
  return html`<tr data-name="${`${name} ${id}`.toLowerCase()}"><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}<td class="text"><i class="sign ${tone}" role="img" aria-label="${words[tone]}">${signs[tone]}</i> ${through}</td></tr>`
}

/** Tenants from which on the table has a field to search them. */
const searched = 12

export function comparisonHtml({ tenants, months, lastMonth, madeAt }: ReportData): Html | null {
  if (tenants.length < 2) return null
  const month = months[lastMonth ?? months.length - 1]?.month
  const heads = [
    'business',
    'sales',
    'to the month before',
    'gross margin',
    'average order',
    'cars',
    'late today',
    'overdue',
  ]
  const search = html`<label class="search">Find a business <input type="search" data-search autocomplete="off"></label>`
  return html`<section class="panel wide compare" aria-labelledby="compare-title">
<h3 id="compare-title">${plural(tenants.length, 'business')}, most sales first</h3>
${month === undefined ? null : html`<p class="finding">${monthInFull(month)}${lastMonth === null ? ' so far' : ''}.</p>`}
${tenants.length >= searched ? search : null}
<div class="scroll tall" tabindex="0" role="region" aria-labelledby="compare-title"><table class="stack" data-searched>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}<th scope="col" class="text">data is</th></tr></thead>
<tbody>${tenants.map((tenant) => line(madeAt, tenant))}</tbody></table></div>
<p class="caption">Definitions as above. For all figures of one business: <code>shopsync report --tenant ID</code>.</p>
</section>`
}

/** Conditions for open items: late work, unsettled invoices. Used by views and by the snapshot. */
import { todayIn } from './today.js'
import type { ViewWords } from './view.js'

/** Closed after it was due, or still open past that time; unknown for an invoice without a closing time. */
export const isLate = (q: ViewWords, order: string): string =>
  `case when ${order}.closed_at is not null then ${order}.closed_at > ${order}.due_out_at
    when ${order}.state = 'invoice' then null else ${q.now} > ${order}.due_out_at end`

/** For an order's totals. An order with an unknown total counts as open, whatever was paid on it. */
export const isUnsettled = (o: string): string =>
  `${o}.state = 'invoice' and ${o}._deleted_at is null and (${o}.balance_cents <> 0 or ${o}.balance_cents is null)`

const known = (cents: string): string => `coalesce(${cents}, 0)`
const taxes = ['labor', 'parts', 'sublets', 'hazmats'] as const

/**
 * The least that is owed on an order: its balance, or the known part of its total minus what was paid; never below 0.
 */
export function atLeastDue(o: string): string {
  const parts = ['supply_fee_cents', ...taxes.map((kind) => `${kind}_tax_cents`)]
  const sum = [`${o}.sales_cents`, ...parts.map((part) => known(`${o}.${part}`))].join(' + ')
  const due = `coalesce(${o}.balance_cents, ${sum} - ${known(`${o}.paid_cents`)})`
  return `(case when ${due} > 0 then ${due} else 0 end)`
}

/** Days from the closing of an order until today, if it was closed. */
export const daysSinceClosing = (q: ViewWords, o: string): string =>
  `${todayIn(q, q.zone(`${o}.tenant_id`, `${o}.shop_id`))} - ${q.dayNumber(`${o}.closed_on`)}`

/** For an order's totals: what was sold and exists at the source. */
export const isInvoice = (o: string): string => `${o}.state = 'invoice' and ${o}._deleted_at is null`

/** The day on which a tenant, or one of its shops, closed its first invoice; null before that. */
export const firstInvoiceDay = (tenant: string, shop?: string): string =>
  `(select y.closed_on from {repair_order_totals} y
        where y.tenant_id = ${tenant}${shop === undefined ? '' : ` and y.shop_id = ${shop}`} and y.closed_on is not null and ${isInvoice('y')}
        order by y.closed_on limit 1)`

/** Conditions on what is open: work that is late, invoices that are not settled. Used by views and by the snapshot. */
import type { ViewWords } from './view.js'

/** Closed after it was due, or open now that it is past; an invoice that does not say when it was closed is not known. */
export const isLate = (q: ViewWords, order: string): string =>
  `case when ${order}.closed_at is not null then ${order}.closed_at > ${order}.due_out_at
    when ${order}.state = 'invoice' then null else ${q.now} > ${order}.due_out_at end`

/** Of an order's totals. What nobody knows the total of counts as open, whatever was paid on it. */
export const isUnsettled = (o: string): string =>
  `${o}.state = 'invoice' and ${o}._deleted_at is null and (${o}.balance_cents <> 0 or ${o}.balance_cents is null)`

const known = (cents: string): string => `coalesce(${cents}, 0)`
const taxes = ['labor', 'parts', 'sublets', 'hazmats'] as const

/** What is owed on an order at least: its balance, or what is known of its total less what was paid; never below 0. */
export function atLeastDue(o: string): string {
  const parts = ['supply_fee_cents', ...taxes.map((kind) => `${kind}_tax_cents`)]
  const sum = [`${o}.sales_cents`, ...parts.map((part) => known(`${o}.${part}`))].join(' + ')
  const due = `coalesce(${o}.balance_cents, ${sum} - ${known(`${o}.paid_cents`)})`
  return `(case when ${due} > 0 then ${due} else 0 end)`
}

/** Days from the closing of an order until today, where it was closed. */
export const daysSinceClosing = (q: ViewWords, o: string): string =>
  `${q.dayNumber(q.day(q.zone(`${o}.tenant_id`, `${o}.shop_id`), q.now))} - ${q.dayNumber(`${o}.closed_on`)}`

/** Of an order's totals: what was sold, and exists at the source. */
export const isInvoice = (o: string): string => `${o}.state = 'invoice' and ${o}._deleted_at is null`

/** When a repair order is late. Used by the views of cycle times and of work in progress. */
import type { ViewWords } from './view.js'

/** Closed after it was due, or open now that it is past; an invoice that does not say when it was closed is not known. */
export const isLate = (q: ViewWords, order: string): string =>
  `case when ${order}.closed_at is not null then ${order}.closed_at > ${order}.due_out_at
    when ${order}.state = 'invoice' then null else ${q.now} > ${order}.due_out_at end`

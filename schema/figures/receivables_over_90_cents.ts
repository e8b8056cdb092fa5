import { defineFigure } from '../figure.js'
import receivables from '../views/receivables.js'

export default defineFigure({
  name: 'receivables_over_90_cents',
  label: 'Receivables over 90 days',
  doc: 'What customers owe on invoices closed more than 90 days ago.',
  unit: 'cents',
  relation: receivables,
  numerator: {
    sum: 'case when days <= 90 then 0 when balance_cents > 0 then balance_cents when balance_cents is not null then 0 end',
  },
  snapshot: 'to_collect_over_90_cents',
  leavesOut: {
    what: 'those invoices whose balance is unknown',
    count: 'balance_cents is null and coalesce(days, 91) > 90',
  },
  by: ['customer_key', 'customer_name'],
  lists: ['repair_orders'],
})

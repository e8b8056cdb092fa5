import { defineFigure } from '../figure.js'
import receivables from '../views/receivables.js'

export default defineFigure({
  name: 'receivables_over_90_cents',
  label: 'Receivables over 90 days',
  doc: 'What customers owe on invoices closed more than 90 days ago.',
  unit: 'cents',
  relation: receivables,
  numerator: {
    sum: 'case when days <= 90 or balance_cents <= 0 then 0 when days > 90 then balance_cents end',
  },
  snapshot: 'to_collect_over_90_cents',
  leavesOut: {
    what: 'those invoices whose balance or closing day is unknown',
    count: '(balance_cents is null and coalesce(days, 91) > 90) or (balance_cents > 0 and days is null)',
  },
  by: ['customer_key', 'customer_name'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import receivables from '../views/receivables.js'

export default defineFigure({
  name: 'credits_cents',
  label: 'Credits',
  doc: 'What shops owe customers who paid more than the total. A negative sum.',
  unit: 'cents',
  relation: receivables,
  numerator: {
    sum: 'case when balance_cents < 0 then balance_cents when balance_cents is not null then 0 end',
  },
  snapshot: 'credits_cents',
  leavesOut: { what: 'invoices whose balance is unknown', count: 'balance_cents is null' },
  by: ['customer_key', 'customer_name'],
  lists: ['repair_orders'],
})

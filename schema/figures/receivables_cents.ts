import { defineFigure } from '../figure.js'
import receivables from '../views/receivables.js'

export default defineFigure({
  name: 'receivables_cents',
  label: 'Receivables',
  doc: 'What customers owe on invoices: the sum of the positive balances. Credits, which shops owe to customers, are a separate figure. If a balance is unknown, `at_least_due_cents` in the view has the known minimum.',
  unit: 'cents',
  relation: receivables,
  numerator: {
    sum: 'case when balance_cents > 0 then balance_cents when balance_cents is not null then 0 end',
  },
  snapshot: 'to_collect_cents',
  leavesOut: { what: 'invoices whose balance is unknown', count: 'balance_cents is null' },
  by: ['customer_key', 'customer_name', 'bucket'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select sum(balance_cents) from orders where balance_cents > 0',
      why: "Customers don't owe estimates and orders in progress yet.",
    },
  ],
})

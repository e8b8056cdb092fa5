import { defineFigure } from '../figure.js'
import receivables from '../views/receivables.js'

export default defineFigure({
  name: 'receivables_cents',
  label: 'Receivables',
  doc: 'What customers owe on invoices: the sum of the positive balances. What is owed to customers is told apart, as credits. `at_least_due_cents` of the view adds what is owed at least where the balance is unknown.',
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
      why: 'Estimates and orders in progress are not owed yet.',
    },
  ],
})

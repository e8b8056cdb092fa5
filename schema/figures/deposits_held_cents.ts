import { defineFigure } from '../figure.js'
import payments_ledger from '../views/payments_ledger.js'

export default defineFigure({
  name: 'deposits_held_cents',
  label: 'Deposits held',
  doc: 'Payments minus refunds on estimates and orders in progress: what customers have paid for work that is not invoiced yet.',
  unit: 'cents',
  relation: payments_ledger,
  where: "state <> 'invoice'",
  numerator: { sum: 'amount_cents' },
  snapshot: 'deposits_held_cents',
  leavesOut: { what: 'payments whose amount is unknown', count: 'amount_cents is null' },
  by: ['type', 'type_name', 'customer_key', 'customer_name'],
  lists: ['payments', 'repair_orders'],
  instead: [
    {
      sql: 'select sum(deposits_cents) from shop_months',
      why: 'Those are the deposits that were made; most of them belong to invoices by now.',
    },
  ],
})

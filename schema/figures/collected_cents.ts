import { defineFigure } from '../figure.js'
import payments_daily from '../views/payments_daily.js'

export default defineFigure({
  name: 'collected_cents',
  label: 'Collected',
  doc: 'Payments minus refunds, by the day they were entered. Payments whose order was deleted count too: the bank has them.',
  unit: 'cents',
  relation: payments_daily,
  day: 'day',
  numerator: { sum: 'case when payments > amounts_unknown then amount_cents end' },
  leavesOut: { what: 'payments whose amount is unknown', sum: 'amounts_unknown' },
  by: ['type', 'type_name'],
  lists: ['payments', 'repair_orders'],
  instead: [
    {
      sql: "select sum(paid_cents) from orders where closed_on >= '2026-01-01'",
      why: 'Payments have their own dates: a deposit comes before the order is closed, and late payments come after.',
    },
  ],
})

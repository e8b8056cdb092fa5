import { defineFigure } from '../figure.js'
import payments_daily from '../views/payments_daily.js'

export default defineFigure({
  name: 'refunds_cents',
  label: 'Refunds',
  doc: 'Payments returned to customers. A negative sum, and part of what was collected.',
  unit: 'cents',
  relation: payments_daily,
  day: 'day',
  numerator: { sum: 'case when payments > amounts_unknown then refund_cents end' },
  leavesOut: { what: 'payments whose amount is unknown', sum: 'amounts_unknown' },
  by: ['type', 'type_name'],
  lists: ['payments', 'repair_orders'],
  instead: [
    { sql: 'select sum(refunds) from payments_daily', why: '`refunds` is their number, not their amount.' },
  ],
})

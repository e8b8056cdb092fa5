import { defineFigure } from '../figure.js'
import payments_daily from '../views/payments_daily.js'

export default defineFigure({
  name: 'deposits_cents',
  label: 'Deposits',
  doc: "Payments entered before the day their order was closed, or on orders that aren't closed. They are part of what was collected.",
  unit: 'cents',
  relation: payments_daily,
  day: 'day',
  numerator: { sum: 'case when payments > amounts_unknown then deposit_cents end' },
  leavesOut: { what: 'payments whose amount is unknown', sum: 'amounts_unknown' },
  by: ['type', 'type_name'],
  lists: ['payments', 'repair_orders'],
})

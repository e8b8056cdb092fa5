import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'supply_fees_cents',
  label: 'Supply fees',
  doc: 'Known supply fees on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'supply_fee_cents' },
  leavesOut: { what: 'invoices whose supply fee the API does not show', count: 'supply_fee_unknown' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'hazmats_tax_cents',
  label: 'Tax on hazmats',
  doc: 'Known hazmat tax on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'hazmats_tax_cents' },
  leavesOut: { what: 'invoices whose tax on hazmats is unknown', count: 'hazmats_tax_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'labor_tax_cents',
  label: 'Tax on labor',
  doc: 'Known labor tax on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_tax_cents' },
  leavesOut: { what: 'invoices whose tax on labor is unknown', count: 'labor_tax_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

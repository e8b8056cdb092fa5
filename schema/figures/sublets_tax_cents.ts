import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'sublets_tax_cents',
  label: 'Tax on sublets',
  doc: 'Known sublet tax on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'sublets_tax_cents' },
  leavesOut: { what: 'invoices whose tax on sublets is unknown', count: 'sublets_tax_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

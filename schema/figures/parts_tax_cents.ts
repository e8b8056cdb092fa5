import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'parts_tax_cents',
  label: 'Tax on parts and the supply fee',
  doc: 'Known tax on parts and the supply fee on invoices.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'parts_tax_cents' },
  leavesOut: {
    what: 'invoices whose tax on parts and the supply fee is unknown',
    count: 'parts_tax_cents is null',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'invoiced_cents',
  label: 'Invoiced',
  doc: 'What customers were billed: sales, supply fee and taxes of invoices whose total is known. Payments on the other invoices are still in `collected_cents`, so compare the two order by order in `orders`.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'total_cents' },
  leavesOut: { what: 'invoices whose total is unknown', count: 'total_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

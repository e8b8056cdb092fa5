import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'new_customers',
  label: 'New customers',
  doc: "Customers whose first invoice was closed, counted at the shop that closed it. First means first in the warehouse: if a shop used another system before, many of its first year's new customers aren't new.",
  unit: 'count',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { count: 'is_first_visit' },
  leavesOut: { what: 'invoices without a customer', count: 'customer_key is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'hours_sold',
  label: 'Hours sold',
  doc: 'Hours of labor on invoices: hours sold, not hours worked. The API does not show hours worked.',
  unit: 'hours',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_hours' },
  leavesOut: {
    what: 'invoices with a line whose hours or price are unknown; unknown hours count as 0',
    count: 'lines_without_price > 0',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

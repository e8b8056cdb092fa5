import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'hours_per_order',
  label: 'Hours per order',
  doc: 'Average hours sold per invoice.',
  unit: 'hours',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_hours' },
  denominator: { count: "state = 'invoice'" },
  leavesOut: {
    what: 'invoices with a line whose hours or price are unknown; unknown hours count as 0',
    count: 'lines_without_price > 0',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'average_repair_order',
  label: 'Average repair order',
  doc: 'Sales by invoice.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'sales_cents' },
  denominator: { count: "state = 'invoice'" },
  leavesOut: {
    what: 'invoices with a line whose price is unknown, which counts as 0',
    count: 'lines_without_price > 0',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: 'select avg(total_cents) from orders',
      why: 'The total has fee and taxes in it, and estimates are counted as if they were sold.',
    },
  ],
})

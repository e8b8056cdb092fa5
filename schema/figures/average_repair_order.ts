import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'average_repair_order',
  label: 'Average repair order',
  doc: 'Average sales per invoice.',
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
      why: 'The total includes the supply fee and taxes, and this counts estimates as if they were sold.',
    },
  ],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'sales_cents',
  label: 'Sales',
  doc: 'What the shop invoiced: labor, parts, sublets and hazmats minus discounts, before supply fee and taxes, by the day the order was closed. When you compare two periods, include only shops that were open in both; otherwise new shops look like growth.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'sales_cents' },
  leavesOut: {
    what: 'invoices with a line whose price is unknown, which counts as 0',
    count: 'lines_without_price > 0',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(sales_cents) from orders where created_on >= '2026-01-01'",
      why: 'Estimates and orders in progress are not sales, and a sale counts on the day the order is closed.',
    },
    {
      sql: "select sum(total_cents) from orders where state = 'invoice'",
      why: 'The total includes the supply fee and taxes, and is null if any of them is unknown.',
    },
  ],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'gross_profit_cents',
  label: 'Gross profit',
  doc: "Sales minus the cost of parts and sublets, before technicians' pay. Invoices whose costs aren't all known are left out.",
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'gross_profit_cents' },
  leavesOut: { what: 'invoices without a known cost or price', count: 'gross_profit_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(sales_cents - parts_cost_cents - sublets_cost_cents) from orders where state = 'invoice'",
      why: 'An unknown cost counts as 0 there, so the profit is too high.',
    },
  ],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'gross_margin',
  label: 'Gross margin',
  doc: 'Gross profit as a share of sales, for invoices whose costs are all known.',
  unit: 'percent',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'gross_profit_cents' },
  denominator: { sum: 'case when gross_profit_cents is not null then sales_cents end' },
  leavesOut: { what: 'invoices without a known cost or price', count: 'gross_profit_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(gross_profit_cents) * 100.0 / sum(sales_cents) from orders where state = 'invoice'",
      why: 'The denominator includes the sales of invoices whose profit is unknown, so the margin is too low.',
    },
    {
      sql: "select avg(gross_profit_cents * 100.0 / sales_cents) from orders where state = 'invoice'",
      why: 'An average of ratios gives a small invoice the same weight as a large one.',
    },
  ],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'taxable_sales_cents',
  label: 'Taxable sales',
  doc: 'Sales that were taxed at a rate above 0, with the supply fee where parts are taxed.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'taxable_sales_cents' },
  leavesOut: { what: 'invoices for which it is unknown what is taxed', count: 'taxable_sales_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(net_cents) from order_lines where taxable and state = 'invoice'",
      why: 'A line that may be taxed is not where the rate of its kind is 0, as for labor in most states.',
    },
  ],
})

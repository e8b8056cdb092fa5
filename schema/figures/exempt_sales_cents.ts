import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'exempt_sales_cents',
  label: 'Exempt sales',
  doc: 'Sales marked as not taxable: lines that are not taxable, and every line of an order that is not taxable. What is taxed at a rate of 0 is not among them: `untaxed_sales_cents` has both.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'exempt_sales_cents' },
  leavesOut: {
    what: "invoices that don't say whether they are taxable",
    count: 'exempt_sales_cents is null',
  },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(net_cents) from order_lines where not taxable and state = 'invoice'",
      why: 'An exempt order still has lines marked taxable.',
    },
  ],
})

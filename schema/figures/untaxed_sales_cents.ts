import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'untaxed_sales_cents',
  label: 'Untaxed sales',
  doc: 'Sales and supply fees without tax, because the line or the order is not taxable or the rate is 0. Together with taxable sales they are the sales and the supply fees.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'untaxed_sales_cents' },
  leavesOut: { what: 'invoices for which it is unknown what is taxed', count: 'untaxed_sales_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
})

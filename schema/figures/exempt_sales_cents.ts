import { defineFigure } from '../figure.js'
import order_lines from '../views/order_lines.js'

export default defineFigure({
  name: 'exempt_sales_cents',
  label: 'Exempt sales',
  doc: 'Sales that were not taxed: lines that are not taxable, and all lines of orders that are not.',
  unit: 'cents',
  relation: order_lines,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'case when is_exempt then net_cents else 0 end' },
  leavesOut: { what: 'lines whose order does not say whether it is taxable', count: 'is_exempt is null' },
  by: ['kind'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(net_cents) from order_lines where not taxable and state = 'invoice'",
      why: 'An order that is exempt as a whole has lines that say they are taxable.',
    },
  ],
})

import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'invoices',
  label: 'Invoices',
  doc: 'Closed repair orders. Shops call this their car count.',
  unit: 'count',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { count: "state = 'invoice'" },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [{ sql: 'select count(*) from orders', why: 'This counts estimates and orders in progress too.' }],
})
